// Prints the status and length of each URL. Built without cgo: Go's own resolver.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	for _, url := range os.Args[1:] {
		r, err := http.Get(url)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Println(r.StatusCode, n, r.Proto)
	}
}
