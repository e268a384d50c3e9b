//go:build linux

package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cluster/zk"
	"concordat/index"
)

const (
	site    = concordat.SiteID("here")
	scheme  = concordat.Scheme("test@0123456789abcdef")
	library = concordat.LibraryID("l")
	groups  = 16
)

// nodeSpec is the configuration of a node's process, passed as JSON in the environment.
type nodeSpec struct {
	Name      coord.NodeID
	Dir       string
	Address   string
	Control   string // address for requests over HTTP
	Zookeeper []string
	Site      concordat.SiteID
	Scheme    concordat.Scheme
	Root      string        // root of the znodes; chosen by the site if empty
	Skew      time.Duration // error of the node's clock
	Timeout   time.Duration
}

const nodeEnv = "CONCORDAT_FAULTS_NODE"

// groupOf returns a document's group; all documents in a group have the same fingerprint.
func groupOf(doc string) int {
	h := fnv.New32a()
	_, _ = io.WriteString(h, doc)
	return int(h.Sum32() % groups)
}

func fingerprint(group int) concordat.Fingerprint {
	h := fnv.New64a()
	fmt.Fprintf(h, "a %d", group)
	a := h.Sum64()
	fmt.Fprintf(h, "b %d", group)
	return concordat.FingerprintFromHalves(a, h.Sum64())
}

// textOf returns the text of a document's revision, 200 to 4,000 bytes.
func textOf(doc string, rev int) string {
	one := fmt.Sprintf("revision %d of %s. ", rev, doc)
	h := fnv.New32a()
	_, _ = io.WriteString(h, one)
	return strings.Repeat(one, 1+(200+int(h.Sum32()%3800))/len(one))
}

func profileOf(doc string, rev int) *concordat.Profile {
	text := textOf(doc, rev)
	return &concordat.Profile{
		Scheme:   scheme,
		Document: concordat.Document{Library: library, ID: concordat.DocumentID(doc), Title: strconv.Itoa(rev), Text: text},
		Indexed:  []concordat.Sentence{{Span: concordat.Span{Start: 0, End: len(text)}, Section: -1, Fingerprint: fingerprint(groupOf(doc))}},
	}
}

// runNode runs the process of a node, which ends when it is killed or cannot continue.
func runNode(words string) {
	var spec nodeSpec
	err := json.Unmarshal([]byte(words), &spec)
	if err == nil {
		err = serveNode(spec)
	}
	fmt.Fprintln(os.Stderr, "node ends:", err)
	os.Exit(1)
}

func serveNode(spec nodeSpec) error {
	ctx := context.Background()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("node", spec.Name)
	trust, err := cluster.LoadTrust(filepath.Join(spec.Dir, "cluster"))
	if err != nil {
		return err
	}
	session, err := zk.Open(ctx, zk.Options{
		Servers: spec.Zookeeper, Root: spec.Root, Site: spec.Site, Scheme: string(spec.Scheme), Node: spec.Name, Timeout: spec.Timeout,
		Identity: filepath.Join(spec.Dir, "cluster", "zookeeper.json"), Log: log,
	})
	if err != nil {
		return err
	}
	fatal := make(chan error, 3)
	n, err := cluster.OpenNode(ctx, cluster.NodeOptions{
		Dir: filepath.Join(spec.Dir, "copies"), Session: session,
		Node: coord.Node{ID: spec.Name, Address: spec.Address}, Index: index.Options{Site: spec.Site, Scheme: spec.Scheme, Logger: log},
		Client: &http.Client{Transport: &http.Transport{TLSClientConfig: trust.ClientTLS(), MaxIdleConnsPerHost: 32,
			IdleConnTimeout: time.Minute}},
		Copy: cluster.CopyOptions{KeepLog: 1 << 20, SegmentBytes: 256 << 10, LowWater: lowWater,
			Now: func() time.Time { return time.Now().Add(spec.Skew) }},
		Fatal: func(err error) { fatal <- err },
	})
	if err != nil {
		return err
	}
	m := http.NewServeMux()
	m.Handle("/cluster/join/", n.LetIn(filepath.Join(spec.Dir, "cluster"), func() (map[string][]byte, error) { return nil, nil }))
	m.Handle("/", trust.OnlyNodes(n.Member, n.Handler()))
	l, err := net.Listen("tcp", spec.Address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: m, TLSConfig: trust.ServerTLS(), ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	go func() { fatal <- server.ServeTLS(l, "", "") }()
	go func() { fatal <- http.ListenAndServe(spec.Control, control(n)) }()
	return <-fatal
}

// found maps documents to their revisions, as found by a reader or in a copy.
type found struct {
	Docs     map[string]int
	Complete bool
	Missing  []concordat.ShardID `json:",omitempty"`
	// Wrong lists, for a copy, texts that do not belong to their revision, and documents that are missing from the index or should not be
	// in it.
	Wrong []string `json:",omitempty"`
}

// control executes the harness's requests.
func control(n *cluster.Node) http.Handler {
	m := http.NewServeMux()
	handle := func(path string, f func(context.Context, func(string) string) (any, error)) {
		m.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			wait, _ := time.ParseDuration(r.FormValue("wait"))
			ctx, cancel := context.WithTimeout(r.Context(), wait)
			defer cancel()
			out, err := f(ctx, r.FormValue)
			switch {
			case errors.Is(err, concordat.ErrNotFound):
				w.WriteHeader(http.StatusNotFound)
			case err != nil:
				w.WriteHeader(http.StatusServiceUnavailable)
				_, _ = io.WriteString(w, err.Error())
			default:
				_ = json.NewEncoder(w).Encode(out) // a disconnected caller does not need the answer
			}
		})
	}
	handle("/put", func(ctx context.Context, v func(string) string) (any, error) {
		rev, err := strconv.Atoi(v("rev"))
		if err != nil {
			return nil, err
		}
		return nil, n.Put(ctx, profileOf(v("doc"), rev))
	})
	handle("/delete", func(ctx context.Context, v func(string) string) (any, error) {
		return nil, n.Delete(ctx, concordat.Ref{Site: site, Library: library, Document: concordat.DocumentID(v("doc"))})
	})
	handle("/get", func(ctx context.Context, v func(string) string) (any, error) {
		d, err := n.Document(ctx, concordat.Ref{Site: site, Library: library, Document: concordat.DocumentID(v("doc"))})
		if err != nil {
			return nil, err
		}
		rev, err := strconv.Atoi(d.Title)
		return found{Docs: map[string]int{v("doc"): rev}, Complete: true}, err
	})
	handle("/match", func(ctx context.Context, v func(string) string) (any, error) {
		group, err := strconv.Atoi(v("group"))
		if err != nil {
			return nil, err
		}
		return match(ctx, n, group)
	})
	handle("/copy", func(ctx context.Context, v func(string) string) (any, error) {
		c, ok := n.Copy(concordat.ShardID(v("shard")))
		if !ok {
			return nil, errors.New("no copy")
		}
		return contents(ctx, c.Index())
	})
	handle("/status", func(_ context.Context, v func(string) string) (any, error) {
		c, ok := n.Copy(concordat.ShardID(v("shard")))
		if !ok {
			return nil, errors.New("no copy")
		}
		return c.Status()
	})
	return m
}

// match returns the documents of a group.
func match(ctx context.Context, x concordat.Matcher, group int) (found, error) {
	a, err := x.Match(ctx, &concordat.Query{Scheme: scheme, Fingerprints: []concordat.Fingerprint{fingerprint(group)}})
	if err != nil {
		return found{}, err
	}
	out := found{Docs: map[string]int{}, Complete: len(a.Missing) == 0 && a.Capped == 0, Missing: a.Missing}
	for _, m := range a.Matches {
		rev, err := strconv.Atoi(m.Title)
		if err != nil {
			return found{}, err
		}
		out.Docs[string(m.Source.Document)] = rev
	}
	return out, nil
}

// contents returns everything in a copy, and whether its documents and its index agree.
func contents(ctx context.Context, s *index.Shard) (found, error) {
	out := found{Docs: map[string]int{}, Complete: true}
	for d, err := range s.LibraryDocuments(ctx, library) {
		if err != nil {
			return out, err
		}
		rev, err := strconv.Atoi(d.Title)
		if err != nil || d.Text != textOf(string(d.ID), rev) {
			out.Wrong = append(out.Wrong, fmt.Sprintf("text of %s, revision %s", d.ID, d.Title))
		}
		out.Docs[string(d.ID)] = rev
	}
	seen := 0
	for g := range groups {
		f, err := match(ctx, s, g)
		if err != nil {
			return out, err
		}
		for doc, rev := range f.Docs {
			if seen++; out.Docs[doc] != rev {
				out.Wrong = append(out.Wrong, fmt.Sprintf("the index finds revision %d of %s, the document is revision %d", rev, doc, out.Docs[doc]))
			}
		}
	}
	if seen != len(out.Docs) {
		out.Wrong = append(out.Wrong, fmt.Sprintf("the index finds %d documents of %d", seen, len(out.Docs)))
	}
	return out, nil
}
