package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// readKnown reads the list of changes that no test needs to notice: the fields of Key and the reason, separated by tabs, one
// change per line. A missing file is an empty list.
func readKnown(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	known := map[string]string{}
	in := bufio.NewScanner(f)
	for n := 1; in.Scan(); n++ {
		line := in.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, reason, ok := cutLast(line)
		if !ok || strings.Count(key, "\t") != 4 || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("%s:%d: want six fields separated by tabs: file, function, number, from, to, reason", path, n)
		}
		if _, twice := known[key]; twice {
			return nil, fmt.Errorf("%s:%d: duplicate change", path, n)
		}
		known[key] = reason
	}
	return known, in.Err()
}

func cutLast(line string) (before, after string, ok bool) {
	i := strings.LastIndexByte(line, '\t')
	if i < 0 {
		return "", "", false
	}
	return line[:i], line[i+1:], true
}

// without returns the changes that are not in the list, and the number of listed ones.
func without(cs []Change, known map[string]string) ([]Change, int) {
	var out []Change
	for _, c := range cs {
		if _, ok := known[c.Key()]; !ok {
			out = append(out, c)
		}
	}
	return out, len(cs) - len(out)
}
