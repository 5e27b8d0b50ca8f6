// A whole registry of OCI 1.1 for scripts/soak/oci.sh (OCI-Subject, lists of referrers in pages, deletes by
// tag, uploads in chunks): olareg ADDRESS DIRECTORY.
package main

import (
	"log"
	"net/http"
	"os"
	"time"

	"github.com/olareg/olareg"
	"github.com/olareg/olareg/config"
)

// bytes of a list of referrers: three of them make two pages
const page = 1000

func main() {
	yes := true
	conf := config.Config{
		Storage: config.ConfigStorage{StoreType: config.StoreDir, RootDir: os.Args[2]},
		API: config.ConfigAPI{
			DeleteEnabled: &yes,
			Blob:          config.ConfigAPIBlob{DeleteEnabled: &yes},
			Referrer:      config.ConfigAPIReferrer{Limit: page},
		},
	}
	server := &http.Server{Addr: os.Args[1], ReadHeaderTimeout: 5 * time.Second, Handler: olareg.New(conf)}
	log.Fatal(server.ListenAndServe())
}
