// A server and a client of Go's own HTTP/2, for h2_clients.py.
//
//	peer serve ADDRESS:PORT CERT KEY     until its input ends; a line "ready" first
//	peer call URL CA                     through HTTPS_PROXY; exit 0: all was right
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"strings"
	"sync"
	"time"
)

const large = 8 << 20

func check(what string, got, want any) {
	if got != want {
		fmt.Printf("%s: %v instead of %v\n", what, got, want)
		os.Exit(1)
	}
	fmt.Println(what)
}

func must[T any](v T, err error) T {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	return v
}

var gone = make(chan bool, 1)

func handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %s", r.Proto, r.Host, r.Header.Get("Authorization"))
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		n, _ := io.Copy(w, r.Body)
		w.Header().Set("X-Sum", fmt.Sprint(n))
		w.Header().Set(http.TrailerPrefix+"X-Late", "yes")
	})
	mux.HandleFunc("/trailers", func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, len(r.Trailer["X-Mine"]))
	})
	mux.HandleFunc("/hints", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>")
		w.WriteHeader(http.StatusEarlyHints)
		fmt.Fprint(w, "hinted")
	})
	mux.HandleFunc("/early", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		fmt.Fprint(w, "too large")
	})
	mux.HandleFunc("/panic", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/ticks", func(w http.ResponseWriter, r *http.Request) {
		buf := make([]byte, 1)
		for {
			w.(http.Flusher).Flush()
			if _, err := r.Body.Read(buf); err != nil {
				return
			}
			w.Write(buf)
		}
	})
	mux.HandleFunc("/forever", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "begun")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		gone <- true
	})
	mux.HandleFunc("/gone", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-gone:
			fmt.Fprint(w, "gone")
		case <-time.After(20 * time.Second):
			fmt.Fprint(w, "still there")
		}
	})
	mux.HandleFunc("/push", func(w http.ResponseWriter, r *http.Request) {
		p, ok := w.(http.Pusher)
		fmt.Fprint(w, ok && p.Push("/", nil) == nil)
	})
	return mux
}

func serve(address, cert, key string) {
	l := must(net.Listen("tcp", address))
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Println("ready")
	must(0, (&http.Server{Handler: handler()}).ServeTLS(l, cert, key))
}

func text(r *http.Response, err error) string {
	must(r, err)
	defer r.Body.Close()
	return string(must(io.ReadAll(r.Body)))
}

func call(url, ca string) {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(must(os.ReadFile(ca)))
	c := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{RootCAs: pool}}, Timeout: 60 * time.Second}
	check("a request", strings.HasPrefix(text(c.Get(url+"/")), "HTTP/2.0 api.example.com Bearer "), true)

	body := bytes.Repeat([]byte("0123456789abcdef"), large/16)
	r := must(c.Post(url+"/echo", "text/plain", bytes.NewReader(body)))
	check("a large echo", bytes.Equal(must(io.ReadAll(r.Body)), body), true)
	check("trailers of a reply", r.Trailer.Get("X-Sum")+r.Trailer.Get("X-Late"), fmt.Sprint(large)+"yes")

	req := must(http.NewRequest("POST", url+"/trailers", io.NopCloser(strings.NewReader("x"))))
	req.Trailer = http.Header{"X-Mine": {"secret"}}
	check("trailers of a request are dropped", text(c.Do(req)), "0")

	hints := 0
	req = must(http.NewRequest("GET", url+"/hints", nil))
	req = req.WithContext(httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
		Got1xxResponse: func(int, textproto.MIMEHeader) error { hints++; return nil }}))
	check("interim replies", text(c.Do(req))+fmt.Sprint(hints), "hinted1")

	r = must(c.Post(url+"/early", "text/plain", io.LimitReader(zeros{}, 1<<30)))
	check("an early reply", fmt.Sprint(r.StatusCode)+text(r, nil), "413too large")

	r = must(c.Get(url + "/panic"))
	_, err := io.ReadAll(r.Body)
	check("a cut reply", err != nil && !errors.Is(err, io.EOF), true)
	check("push is off", text(c.Get(url+"/push")), "false")
	check("a method that is refused", must(c.Do(must(http.NewRequest("TRACE", url+"/", nil)))).StatusCode, 405)
	talk(c, url)
	cancel(c, url)
	many(c, url)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func talk(c *http.Client, url string) {
	in, out := io.Pipe()
	r := must(c.Post(url+"/ticks", "text/plain", in))
	buf := make([]byte, 1)
	for i := 0; i < 200; i++ {
		must(out.Write([]byte{byte(i)}))
		must(io.ReadFull(r.Body, buf))
		if buf[0] != byte(i) {
			check("a talk", buf[0], byte(i))
		}
	}
	out.Close()
	check("a talk", text(r, nil), "")
}

func cancel(c *http.Client, url string) {
	ctx, stop := context.WithCancel(context.Background())
	r := must(c.Do(must(http.NewRequestWithContext(ctx, "GET", url+"/forever", nil))))
	must(io.ReadFull(r.Body, make([]byte, 5)))
	stop()
	check("a request that is cancelled", text(c.Get(url+"/gone")), "gone")
}

func many(c *http.Client, url string) {
	var all sync.WaitGroup
	var lock sync.Mutex
	good := 0
	for i := 0; i < 500; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			r := must(c.Post(url+"/echo", "text/plain", strings.NewReader(strings.Repeat("x", i*100))))
			n := len(text(r, nil))
			lock.Lock()
			defer lock.Unlock()
			if n == i*100 {
				good++
			}
		}()
	}
	all.Wait()
	check("500 at once", good, 500)
}

func main() {
	switch {
	case len(os.Args) == 5 && os.Args[1] == "serve":
		serve(os.Args[2], os.Args[3], os.Args[4])
	case len(os.Args) == 4 && os.Args[1] == "call":
		call(os.Args[2], os.Args[3])
	default:
		fmt.Println("usage: peer serve ADDRESS:PORT CERT KEY | peer call URL CA")
		os.Exit(2)
	}
}
