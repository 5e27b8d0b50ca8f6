// A registry in memory with the referrers API, for scripts/soak/oci.sh: referrers ADDRESS.
package main

import (
	"log"
	"net/http"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	server := &http.Server{
		Addr:              os.Args[1],
		ReadHeaderTimeout: 5 * time.Second,
		Handler:           registry.New(registry.WithReferrersSupport(true)),
	}
	log.Fatal(server.ListenAndServe())
}
