// smokescreen as its README says to build it with an own way to know clients: all are "bench". Its own program intercepts
// only for clients that show a certificate.
package main

import (
	"log"
	"net/http"

	"github.com/stripe/smokescreen/cmd"
	"github.com/stripe/smokescreen/pkg/smokescreen"
)

func main() {
	conf, err := cmd.NewConfiguration(nil, nil)
	if err != nil || conf == nil {
		log.Fatal(err)
	}
	conf.RoleFromRequest = func(*http.Request) (string, error) { return "bench", nil }
	smokescreen.StartWithConfig(conf, nil)
}
