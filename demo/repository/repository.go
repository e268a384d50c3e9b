// Package repository implements the small repository of the demonstration. It serves four works by OAI-PMH as Dublin Core, each with a
// page that links to its text (Signposting). Open repository.go. It is intended only for the demonstration on one machine, so it lists
// everything on one page and ignores dates.
package repository

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// work is a record of the repository. Its DOIs have the prefix reserved for tests, so they do not resolve.
type work struct {
	ID, Title, Creator, Language string
	File                         string // file name in the folder of texts
	Embargo                      string // first day on which it may be read; empty if it is open
}

var works = []work{
	{"1", "Universal Declaration of Human Rights", "United Nations General Assembly", "en", "universal-declaration-en.txt", ""},
	{"2", "Déclaration universelle des droits de l'homme", "Nations Unies, Assemblée générale", "fr", "universal-declaration-fr.txt", ""},
	{"3", "Declaración Universal de Derechos Humanos", "Naciones Unidas, Asamblea General", "es", "universal-declaration-es.txt", ""},
	{"4", "Allgemeine Erklärung der Menschenrechte", "Vereinte Nationen, Generalversammlung", "de", "universal-declaration-de.txt",
		"2099-01-01"},
}

// Main serves the texts of a folder at an address on this machine: demo-repository ADDRESS FOLDER.
func Main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: demo-repository ADDRESS FOLDER")
		os.Exit(2)
	}
	l, err := net.Listen("tcp", os.Args[1])
	if err == nil {
		s := &http.Server{Handler: Handler("http://"+l.Addr().String(), os.Args[2]), ReadHeaderTimeout: 10 * time.Second}
		err = s.Serve(l)
	}
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		fmt.Fprintln(os.Stderr, "demo-repository:", err)
		os.Exit(1)
	}
}

// Handler returns the repository at an address, with the texts of a folder.
func Handler(at, folder string) http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /oai", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/xml; charset=utf-8")
		write(rw, `<?xml version="1.0" encoding="UTF-8"?><OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><responseDate>`+
			time.Now().UTC().Format(time.RFC3339)+`</responseDate><request>`+at+`/oai</request>`+answer(at, r.FormValue("verb"))+`</OAI-PMH>`)
	})
	m.HandleFunc("GET /item/{id}", func(rw http.ResponseWriter, r *http.Request) {
		for _, w := range works {
			if w.ID == r.PathValue("id") {
				rw.Header().Set("Content-Type", "text/html; charset=utf-8")
				rw.Header().Set("Link", fmt.Sprintf(`<%s/files/%s>; rel="item"; type="text/plain"`, at, w.File))
				write(rw, "<!DOCTYPE html><title>"+escaped(w.Title)+"</title><h1>"+escaped(w.Title)+"</h1>")
				return
			}
		}
		http.NotFound(rw, r)
	})
	m.HandleFunc("GET /files/{name}", func(rw http.ResponseWriter, r *http.Request) {
		for _, w := range works {
			if w.File == r.PathValue("name") && w.Embargo == "" {
				rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
				http.ServeFile(rw, r, filepath.Join(folder, w.File))
				return
			}
		}
		http.NotFound(rw, r)
	})
	return m
}

// answer returns the answer to an OAI-PMH 2.0 request.
func answer(at, verb string) string {
	switch verb {
	case "Identify":
		return `<Identify><repositoryName>Repository of the demonstration</repositoryName><baseURL>` + at + `/oai</baseURL>` +
			`<protocolVersion>2.0</protocolVersion><adminEmail>nobody@example.org</adminEmail><earliestDatestamp>2026-01-01</earliestDatestamp>` +
			`<deletedRecord>no</deletedRecord><granularity>YYYY-MM-DD</granularity></Identify>`
	case "ListMetadataFormats":
		return `<ListMetadataFormats><metadataFormat><metadataPrefix>oai_dc</metadataPrefix></metadataFormat></ListMetadataFormats>`
	case "ListRecords":
		var b strings.Builder
		for _, w := range works {
			b.WriteString(record(at, w))
		}
		return "<ListRecords>" + b.String() + "</ListRecords>"
	}
	return `<error code="badVerb"/>`
}

func record(at string, w work) string {
	var b strings.Builder
	element := func(name, text string) { fmt.Fprintf(&b, "<dc:%s>%s</dc:%[1]s>", name, escaped(text)) }
	element("title", w.Title)
	element("creator", w.Creator)
	element("date", "1948-12-10")
	element("language", w.Language)
	element("identifier", "https://doi.org/10.5072/concordat.demo."+w.ID)
	element("identifier", at+"/item/"+w.ID)
	if w.Embargo != "" {
		element("rights", "info:eu-repo/semantics/embargoedAccess")
		element("date", "info:eu-repo/date/embargoEnd/"+w.Embargo)
	} else {
		element("rights", "https://creativecommons.org/publicdomain/mark/1.0/")
	}
	return `<record><header><identifier>oai:demo:` + w.ID + `</identifier><datestamp>2026-01-01</datestamp></header><metadata>` +
		`<oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" xmlns:dc="http://purl.org/dc/elements/1.1/">` + b.String() +
		`</oai_dc:dc></metadata></record>`
}

func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder accepts everything
	return b.String()
}

// write sends an answer to a reader that may have disconnected.
func write(w io.Writer, s string) { _, _ = io.WriteString(w, s) }
