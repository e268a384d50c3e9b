package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/lab/bench"
	"concordat/profile"
)

// maxBenchText is the maximum text of one file that bench fingerprint reads, in bytes.
const maxBenchText = 32 << 20

func (l *lab) benchFingerprint() *cobra.Command {
	var scheme string
	var lines bool
	var times int
	c := &cobra.Command{Use: "fingerprint TEXTFILE...", Short: "Benchmark fingerprinting of text on one core",
		Args: cobra.MinimumNArgs(1),
		Long: `Fingerprint reads each plain-text file (UTF-8, at most its first 32 MiB) and measures, on one core, how text is turned
into fingerprints when documents are added. In each round, it also measures hashing of the text and reading of memory.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if times < 1 {
				return cli.Usagef("--rounds is %d, but must be at least 1", times)
			}
			p, err := profile.New(profile.Options{Recipe: scheme})
			if err != nil {
				return cli.Usage(err)
			}
			for _, path := range args {
				text, err := readText(path)
				if err != nil {
					return cli.Usage(err)
				}
				documents := []string{text}
				if lines {
					documents = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
				}
				r, err := bench.Fingerprint(p, filepath.Base(path), documents, times)
				if err != nil {
					return err
				}
				if err := l.figure("Fingerprint", r, "%s: %.1f MB per CPU second (best of %d rounds: %.1f), %.0f sentences per CPU second (%s, %d bytes, %d sentences, %d documents); xxHash %.1f GB per second (%.0f times as fast); memory read %.1f GB per second; peak %.0f MB",
					r.File, r.Rate, r.Rounds, r.Best, r.Prints, r.Scheme, r.Bytes, r.Sentences, r.Documents, r.Hash, r.Hashes, r.Read,
					r.Peak); err != nil {
					return err
				}
			}
			return nil
		}}
	c.Flags().StringVar(&scheme, "scheme", profile.Natural, "fingerprint scheme")
	c.Flags().BoolVar(&lines, "lines", false, "treat each line as a document")
	c.Flags().IntVar(&times, "rounds", 1, "minimum number of rounds for each text, which run for at least two seconds in total; prints the median")
	return c
}

func readText(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxBenchText))
	if err != nil {
		return "", err
	}
	for i := 0; i < utf8.UTFMax && len(b) == maxBenchText-i && !utf8.Valid(b); i++ {
		b = b[:len(b)-1] // a rune cut by the limit
	}
	if !utf8.Valid(b) {
		return "", fmt.Errorf("%s is not UTF-8 text", path)
	}
	return string(b), nil
}
