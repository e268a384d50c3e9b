package config

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Origin is the origin of a value. The zero Origin represents the default.
type Origin struct {
	File string
	Line int    // line in File
	Env  string // name of the variable
	// Central is the version of the settings for all machines that contains the value.
	Central int64
}

// String returns "default", "file:line", "cluster, version N" or "$VARIABLE".
func (o Origin) String() string {
	switch {
	case o.Central > 0:
		return fmt.Sprintf("cluster, version %d", o.Central)
	case o.Env != "":
		return "$" + o.Env
	case o.Line > 0:
		return fmt.Sprintf("%s:%d", o.File, o.Line)
	default:
		return "default"
	}
}

// Row is one key of a configuration with its value.
type Row struct {
	Key    string
	Value  string // in the syntax of a file
	Origin Origin
	Live   bool // whether a change takes effect at once; otherwise at the next start
}

// Rows returns every key in the order of doc/config.md; providers and templates come last, one row each.
func (c *Config) Rows() []Row {
	rows := make([]Row, 0, len(keys)+len(c.Templates))
	for _, k := range keys {
		rows = append(rows, Row{Key: k.Name, Value: k.get(c), Origin: c.origins[k.Name], Live: k.Live})
	}
	for _, o := range c.Login.OIDC {
		rows = append(rows, Row{Key: "login.oidc." + o.Name, Value: o.String(), Origin: c.origins["login.oidc"], Live: restart})
	}
	for _, t := range c.Templates {
		rows = append(rows, Row{Key: "templates." + t.Name, Value: t.String(), Origin: c.origins["templates"], Live: live})
	}
	return rows
}

// String returns the sections of t in one line.
func (t Template) String() string {
	all := make([]string, len(t.Sections))
	for i, s := range t.Sections {
		skip := ""
		if s.Skip {
			skip = " skip"
		}
		all[i] = fmt.Sprintf("%s /%s/%s", s.Name, s.Heading, skip)
	}
	return strings.Join(all, "; ")
}

// WriteTable writes Rows as columns key, value, origin, and live or restart.
func (c *Config) WriteTable(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "KEY\tVALUE\tORIGIN\tCHANGE")
	for _, r := range c.Rows() {
		value := r.Value
		if value == "" {
			value = "-"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", r.Key, value, r.Origin, change(r.Live))
	}
	return tw.Flush()
}

func change(live bool) string {
	if live {
		return "live"
	}
	return "restart"
}

// Change is a key whose value differs between two configurations.
type Change struct {
	Key      string
	Old, New string // empty if the configuration lacks the template
	Live     bool
}

// Diff returns the keys that differ between c and d, in the order of Rows. A change to a key that is not live takes effect at the next
// start.
func Diff(c, d *Config) []Change {
	var all []Change
	before := map[string]Row{}
	for _, r := range c.Rows() {
		before[r.Key] = r
	}
	for _, r := range d.Rows() {
		old, ok := before[r.Key]
		delete(before, r.Key)
		if !ok || old.Value != r.Value {
			all = append(all, Change{Key: r.Key, Old: old.Value, New: r.Value, Live: r.Live})
		}
	}
	for _, r := range c.Rows() { // all others are templates
		if old, ok := before[r.Key]; ok {
			all = append(all, Change{Key: r.Key, Old: old.Value, Live: old.Live})
		}
	}
	return all
}
