package config

import (
	"strings"
	"time"

	"concordat/meaning/remote"
)

// Meaning says how texts are compared by what they say.
type Meaning struct {
	Leads    string // LeadsOff or LeadsOn
	Partners string // LeadsOff or LeadsOn
	Index    bool   // documents are indexed by the cells of their sentences
	Encoder  Encoder
}

// Encoder says which server verifies leads. All of it is in range once a configuration is read.
type Encoder struct {
	URL, Model, Prefix, KeyFile string // URL empty: none does
	Batch                       int
	Timeout                     time.Duration
	Dimensions                  int
	Keep                        int // vectors; 0: none
	AllowTextToLeave            bool
}

// Remote returns the options of the server, without a key.
func (e Encoder) Remote() remote.Options {
	return remote.Options{URL: e.URL, Model: e.Model, Prefix: e.Prefix, Batch: e.Batch, Timeout: e.Timeout, Dimensions: e.Dimensions,
		AllowTextToLeave: e.AllowTextToLeave}
}

// Values of meaning.leads.
const (
	LeadsOff = "off"
	LeadsOn  = "on"
)

// maxVectors bounds meaning.encoder.keep.
const maxVectors = 10_000_000

var meaningKeys = []Key{
	word("meaning.leads", LeadsOff, live, func(c *Config) *string { return &c.Meaning.Leads },
		"Whether checks look for leads: passages that seem to say in other words what a document says. They count nowhere until an officer counts one.",
		LeadsOff, LeadsOn),
	word("meaning.partners", LeadsOff, live, func(c *Config) *string { return &c.Meaning.Partners },
		"Whether checks that look for leads ask partners too. Those that open a library for it get codes of meaning, which have no key, of sentences that matched nothing.",
		LeadsOff, LeadsOn),
	yesNo("meaning.index", "false", restart, func(c *Config) *bool { return &c.Meaning.Index },
		"Documents are indexed by their meaning, so that leads are found to those that share few words, or are in another language. Reindex adds it to those that are there."),
	text("meaning.encoder.url", "", restart, func(c *Config) *string { return &c.Meaning.Encoder.URL },
		"Server of the OpenAI embeddings protocol that verifies leads, such as http://127.0.0.1:8080/v1. Empty: leads are those of the embedded table."),
	text("meaning.encoder.model", "", restart, func(c *Config) *string { return &c.Meaning.Encoder.Model },
		"Model as the server names it. Empty: none is named."),
	text("meaning.encoder.prefix", "", restart, func(c *Config) *string { return &c.Meaning.Encoder.Prefix },
		"What the model wants before each sentence: 'query: ' for those of the E5 family."),
	text("meaning.encoder.key_file", "", restart, func(c *Config) *string { return &c.Meaning.Encoder.KeyFile },
		"File whose first line is the key of the server, readable by the site only; a relative path starts at the folder of the site. Empty: none."),
	number("meaning.encoder.batch", "32", restart, "sentences", 1, remote.MaxBatch, func(c *Config) *int { return &c.Meaning.Encoder.Batch },
		"Most sentences of a request."),
	duration("meaning.encoder.timeout", "30s", restart, time.Second, remote.MaxTimeout,
		func(c *Config) *time.Duration { return &c.Meaning.Encoder.Timeout },
		"Longest time for a request. A check does without a server that takes longer."),
	number("meaning.encoder.dimensions", "0", restart, "numbers", 0, remote.MaxDimensions,
		func(c *Config) *int { return &c.Meaning.Encoder.Dimensions }, "Numbers of a vector. 0: as many as the first one has."),
	number("meaning.encoder.keep", "100000", restart, "sentences", 0, maxVectors,
		func(c *Config) *int { return &c.Meaning.Encoder.Keep },
		"Sentences whose vectors the store keeps, so that none is sent twice: about 1 kB each. A vector goes with its document or check. 0: none."),
	yesNo("meaning.encoder.allow_text_to_leave", "false", restart, func(c *Config) *bool { return &c.Meaning.Encoder.AllowTextToLeave },
		"Sentences of submissions and documents may go to a server on another machine."),
}

// encoder checks what the keys of the encoder say together.
func (p *parser) encoder() {
	e := p.config.Meaning.Encoder
	if e.URL == "" {
		return
	}
	err := e.Remote().Validate()
	if err == nil {
		return
	}
	for problem := range strings.SplitSeq(err.Error(), "\n") {
		key := "meaning.encoder.url"
		if name, rest, ok := strings.Cut(problem, ": "); ok && p.config.origins["meaning.encoder."+name] != (Origin{}) {
			key, problem = "meaning.encoder."+name, rest
		}
		p.faults = append(p.faults, Fault{File: p.file, Line: p.config.origins[key].Line, Key: key, Problem: problem})
	}
}
