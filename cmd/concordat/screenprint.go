package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"concordat"
	"concordat/screen"
)

type screenPair struct {
	Type         string               `json:"type"`
	A            concordat.DocumentID `json:"a"`
	B            concordat.DocumentID `json:"b"`
	LibraryA     concordat.LibraryID  `json:"a_library"`
	LibraryB     concordat.LibraryID  `json:"b_library"`
	Method       string               `json:"method"`
	Resemblance  float64              `json:"resemblance"`
	ContainmentA *float64             `json:"containment_a"` // null: not measured by the method
	ContainmentB *float64             `json:"containment_b"`
	Low          *float64             `json:"resemblance_low,omitempty"` // 95 % interval of an estimate
	High         *float64             `json:"resemblance_high,omitempty"`
}

type screenMember struct {
	Library  concordat.LibraryID  `json:"library"`
	Document concordat.DocumentID `json:"document"`
}

type screenCluster struct {
	Type           string         `json:"type"`
	Representative screenMember   `json:"representative"`
	Documents      []screenMember `json:"documents"`
}

type screenSummary struct {
	Type       string              `json:"type"`
	Library    concordat.LibraryID `json:"library"`
	Against    concordat.LibraryID `json:"against,omitempty"`
	Method     string              `json:"method"`
	Threshold  float64             `json:"threshold"`
	Documents  int                 `json:"documents"`
	Distinct   int                 `json:"distinct"`   // texts, after the exact pass
	Compared   int                 `json:"compared"`   // distinct texts the method could compare
	Unread     int                 `json:"unread"`     // documents that could not be read
	Candidates int                 `json:"candidates"` // pairs that were measured
	Common     int                 `json:"common"`     // features too common to compare all their documents with one another
	Folded     int                 `json:"folded"`     // pairs of copies left out: each is paired with the first copy only
	Pairs      int                 `json:"pairs"`
	Clusters   int                 `json:"clusters"`
}

// clusters joins all documents of pairs, copies that were folded included.
func (s *screening) clusters() []screenCluster {
	number := map[screenMember]int{}
	var members []screenMember
	of := func(lib concordat.LibraryID, id concordat.DocumentID) int {
		m := screenMember{lib, id}
		n, ok := number[m]
		if !ok {
			n = len(members)
			number[m] = n
			members = append(members, m)
		}
		return n
	}
	edges := make([][2]int, len(s.pairs))
	for i, p := range s.pairs {
		edges[i] = [2]int{of(p.LibraryA, p.A), of(p.LibraryB, p.B)}
	}
	c := screen.NewClusters(len(members))
	for _, e := range edges {
		c.Join(e[0], e[1])
	}
	var out []screenCluster
	for _, g := range c.Groups() {
		cl := screenCluster{Type: "cluster", Representative: members[g[0]]}
		for _, i := range g {
			cl.Documents = append(cl.Documents, members[i])
		}
		out = append(out, cl)
	}
	return out
}

func (a *app) printScreened(s *screening) error {
	slices.SortFunc(s.pairs, func(x, y screenPair) int {
		return cmp.Or(cmp.Compare(y.Resemblance, x.Resemblance), cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B))
	})
	clusters := s.clusters()
	s.sum.Pairs, s.sum.Clusters = len(s.pairs), len(clusters)
	if a.json {
		return a.screenLines(s, clusters)
	}
	a.say("resemblance  in a  in b  method       a and b")
	for _, p := range s.pairs {
		a.say("%10.0f%%  %s  %s  %-11s  %s  %s", 100*p.Resemblance, percent(p.ContainmentA), percent(p.ContainmentB), p.Method, p.A, p.B)
	}
	for i, c := range clusters {
		var ids []string
		for _, m := range c.Documents[:min(10, len(c.Documents))] {
			ids = append(ids, string(m.Document))
		}
		more := ""
		if n := len(c.Documents) - len(ids); n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		a.say("cluster %d of %d documents, representative first: %s%s", i+1, len(c.Documents), strings.Join(ids, ", "), more)
	}
	t := s.sum
	a.say("%d pairs at or above threshold %.2f (method %s, after the exact pass) in %d clusters, of %d documents with %d distinct texts, %d of which the method can compare",
		t.Pairs, t.Threshold, t.Method, t.Clusters, t.Documents, t.Distinct, t.Compared)
	if t.Folded > 0 {
		a.say("%d further pairs of copies are not listed: of more than %d copies of a text each is paired with the first", t.Folded, mostFolded)
	}
	return nil
}

// percent prints a share, or a dash for one that was not measured.
func percent(v *float64) string {
	if v == nil {
		return "   -"
	}
	return fmt.Sprintf("%3.0f%%", 100**v)
}

func (a *app) screenLines(s *screening, clusters []screenCluster) error {
	for _, p := range s.pairs {
		if err := a.line(p); err != nil {
			return err
		}
	}
	for _, c := range clusters {
		if err := a.line(c); err != nil {
			return err
		}
	}
	return a.line(s.sum)
}
