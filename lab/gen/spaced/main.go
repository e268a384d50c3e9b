// Command spaced writes segment/spaced/data/english.txt.gz from the SCOWL word lists in the given folder: the words of sizes up to 50
// from all varieties of English, in lower-case ASCII letters, each with its smallest size. The result is committed, because fingerprints
// must not change with the lists.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	size := map[string]string{}
	for _, s := range []string{"10", "20", "35", "40", "50"} {
		for _, kind := range []string{"english", "american", "british", "british_z", "canadian", "australian"} {
			b, err := os.ReadFile(filepath.Join(os.Args[1], kind+"-words."+s))
			if os.IsNotExist(err) {
				continue
			}
			if err != nil {
				log.Fatal(err)
			}
			for _, w := range strings.Fields(string(b)) {
				// Two-letter words are function words; the lists contain many that are names of letters.
				if strings.Trim(w, "abcdefghijklmnopqrstuvwxyz") == "" && len(w) > 2 && size[w] == "" {
					size[w] = s
				}
			}
		}
	}
	for _, w := range strings.Fields("am go hi ok oh ox") {
		size[w] = "10"
	}
	var lines []string
	for w, s := range size {
		lines = append(lines, s+" "+w)
	}
	slices.Sort(lines)
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	fmt.Fprintln(z, strings.Join(lines, "\n"))
	if err := z.Close(); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("../segment/spaced/data/english.txt.gz", out.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
	log.Printf("%d words, %d bytes", len(lines), out.Len())
}
