package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/zstd"
)

const longestPiece = 4 << 20 // maximum length of unpacked data

// search looks for words in every byte of every file below a folder, both unchanged and in everything that unpacks as a zstd frame or a
// snappy block beginning at any byte. It returns the files that contain each word.
func search(ctx context.Context, dir string, words [][]byte) (map[string][]string, error) {
	found := map[string][]string{}
	look := func(b []byte, place string) {
		for _, w := range words {
			if bytes.Contains(b, w) && !slices.Contains(found[string(w)], place) {
				found[string(w)] = append(found[string(w)], place)
			}
		}
	}
	least := 1 << 30
	for _, w := range words {
		least = min(least, len(w))
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the file was removed in the meantime
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		name, _ := filepath.Rel(dir, path) // the path is below it
		look(b, name)
		for at := range b {
			if bytes.HasPrefix(b[at:], zstdMagic) {
				look(unzstd(b[at:]), name+" (zstd)")
			}
			if out := unsnap(b[at:], least); out != nil {
				look(out, name+" (snappy)")
			}
		}
		return err
	})
	return found, err
}

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// unzstd returns the readable part of a zstd frame.
func unzstd(b []byte) []byte {
	r, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.IgnoreChecksum(true),
		zstd.WithDecoderMaxMemory(longestPiece))
	if err != nil {
		return nil
	}
	defer r.Close()
	out, _ := io.ReadAll(io.LimitReader(r, longestPiece)) // as much as is readable
	return out
}

// unsnap returns the readable part of a snappy block if it has at least least bytes, and otherwise nil. The readable part of a truncated
// block counts too, because text is in literals and in copies of them.
func unsnap(b []byte, least int) []byte {
	size, k := binary.Uvarint(b[:min(len(b), 5)])
	if k <= 0 || size < uint64(least) || size > longestPiece {
		return nil
	}
	var out []byte
	for b = b[k:]; len(b) > 0 && uint64(len(out)) < size; {
		tag := b[0]
		var length, offset, head int
		switch tag & 3 {
		case 0:
			n := int(tag >> 2)
			extra := max(0, n-59)
			if extra > 3 || len(b) < 1+extra {
				return out
			}
			length, head = n+1, 1
			if extra > 0 {
				length, head = 1+little(b[1:1+extra]), 1+extra
			}
			if length > len(b)-head {
				return append(out, b[head:]...)
			}
			out, b = append(out, b[head:head+length]...), b[head+length:]
			continue
		case 1:
			if len(b) < 2 {
				return out
			}
			length, offset, head = 4+int(tag>>2&7), int(tag>>5)<<8|int(b[1]), 2
		case 2, 3:
			wide := 2 * int(tag&3-1)
			if len(b) < 1+wide {
				return out
			}
			length, offset, head = 1+int(tag>>2), little(b[1:1+wide]), 1+wide
		}
		if offset <= 0 || offset > len(out) {
			return out
		}
		for range length {
			out = append(out, out[len(out)-offset])
		}
		b = b[head:]
	}
	return out
}

func little(b []byte) (v int) {
	for i, x := range b {
		v |= int(x) << (8 * i)
	}
	return v
}
