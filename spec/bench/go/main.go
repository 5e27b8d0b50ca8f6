// The YAML module of the public Go implementation of kit specs, over the same files as bench_load:
//
//	bench DIRECTORY [ROUNDS]
//
// "parse" reads a file's text into the module's tree of nodes, the least that any loader on this module does. "twice"
// is a lower bound of what that implementation does: it first decodes the text for its schemaVersion alone, then decodes
// it again, here into maps and lists. Its own types, folding and validation come on top. A figure is the mean over the
// files of each file's fastest round, in which no garbage is collected; behind it the processor time of the cheapest
// round, with the collector's part.
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"go.yaml.in/yaml/v3"
)

func parse(text []byte) {
	var n yaml.Node
	_ = yaml.Unmarshal(text, &n)
}

func twice(text []byte) {
	var version struct {
		SchemaVersion string `yaml:"schemaVersion"`
	}
	var all map[string]any
	_ = yaml.Unmarshal(text, &version)
	_ = yaml.Unmarshal(text, &all)
}

func read(dir string) (texts [][]byte) {
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || !slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)) {
			return err
		}
		text, err := os.ReadFile(path)
		texts = append(texts, text)
		return err
	})
	if err != nil || len(texts) == 0 {
		fmt.Fprintln(os.Stderr, "bench: no specs in", dir, err)
		os.Exit(1)
	}
	return texts
}

func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func main() {
	subjects := []struct {
		name string
		run  func([]byte)
	}{{"parse", parse}, {"twice", twice}}
	rounds := 20
	if len(os.Args) > 2 {
		rounds, _ = strconv.Atoi(os.Args[2])
	}
	if len(os.Args) < 2 || rounds < 1 {
		fmt.Fprintln(os.Stderr, "usage: bench DIRECTORY [ROUNDS]")
		os.Exit(2)
	}
	texts := read(os.Args[1])
	best := make([][]time.Duration, len(subjects))
	least := make([]time.Duration, len(subjects))
	for round := range rounds {
		for s, subject := range subjects {
			before := processor()
			for i, text := range texts {
				start := time.Now()
				subject.run(text)
				took := time.Since(start)
				if round == 0 {
					best[s] = append(best[s], took)
				} else {
					best[s][i] = min(best[s][i], took)
				}
			}
			if spent := processor() - before; round == 0 || spent < least[s] {
				least[s] = spent
			}
		}
	}
	for s, subject := range subjects {
		var sum time.Duration
		for _, took := range best[s] {
			sum += took
		}
		n := float64(len(texts)) * 1e3
		fmt.Printf("%-7s %8.1f us a kit %8.1f us processor\n", subject.name, float64(sum)/n, float64(least[s])/n)
	}
}
