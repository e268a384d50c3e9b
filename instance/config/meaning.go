package config

import (
	"strings"
	"time"

	"concordat/meaning/remote"
)

// Meaning configures how texts are compared by meaning.
type Meaning struct {
	Leads    string // LeadsOff or LeadsOn
	Partners string // LeadsOff or LeadsOn
	Batches  string // LeadsOff or LeadsOn
	Index    string // IndexOff, IndexTable or IndexEncoder
	Encoder  Encoder
}

// Indexed reports whether documents are indexed by the cells of their sentences.
func (m *Meaning) Indexed() bool { return m.Index != IndexOff }

// Encoder configures the encoder that verifies leads. All values of a loaded configuration are in range.
type Encoder struct {
	Run                         string // EncoderAuto or EncoderOff, depending on whether the site itself runs an encoder
	Command                     string // used instead of the installed package
	Memory                      int64  // memory of the encoder in bytes
	Processors                  int
	URL, Model, Prefix, KeyFile string // if URL is empty, there is no server
	Batch                       int
	Timeout                     time.Duration
	Dimensions                  int
	Keep                        int // number of vectors to keep; 0 means none
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

// Values of meaning.index.
const (
	IndexOff     = "false"
	IndexTable   = "true"    // use the embedded table
	IndexEncoder = "encoder" // also use the encoder's vectors, if an encoder is active
)

// Values of meaning.encoder.run.
const (
	EncoderAuto = "auto"
	EncoderOff  = "off"
)

// maxProcessors is the maximum of meaning.encoder.processors.
const maxProcessors = 1024

// maxVectors is the maximum of meaning.encoder.keep.
const maxVectors = 10_000_000

var meaningKeys = []Key{
	word("meaning.leads", LeadsOff, live, func(c *Config) *string { return &c.Meaning.Leads },
		"Whether checks look for leads: passages that seem to say the same thing in other words. A lead counts only if an officer decides so.",
		LeadsOff, LeadsOn),
	word("meaning.partners", LeadsOff, live, func(c *Config) *string { return &c.Meaning.Partners },
		"Whether checks for leads also ask partners, which then receive meaning codes for sentences that matched nothing.",
		LeadsOff, LeadsOn),
	word("meaning.batches", LeadsOff, live, func(c *Config) *string { return &c.Meaning.Batches },
		"Whether batches look for leads, both among their members and in the libraries; a batch can override this.",
		LeadsOff, LeadsOn),
	alone(word("meaning.index", IndexOff, restart, func(c *Config) *string { return &c.Meaning.Index },
		"Index documents by meaning, to find leads that share few words or are in another language; encoder: also by the encoder's vectors, in the background. Index existing documents on the Settings page or with reindex.",
		IndexOff, IndexTable, IndexEncoder)),
	word("meaning.encoder.run", EncoderAuto, live, func(c *Config) *string { return &c.Meaning.Encoder.Run },
		"Whether the site runs an encoder itself if meaning.encoder.url is empty.",
		EncoderAuto, EncoderOff),
	text("meaning.encoder.command", "", restart, func(c *Config) *string { return &c.Meaning.Encoder.Command },
		"Program and arguments of the encoder to run, which listens on {socket}, or on {port} with the secret in {key_file}. Empty: the installed encoder."),
	size("meaning.encoder.memory", "2GiB", restart, 256*mib, 1<<40, func(c *Config) *int64 { return &c.Meaning.Encoder.Memory },
		"Maximum address space of the site's own encoder."),
	number("meaning.encoder.processors", "1", restart, "processors", 1, maxProcessors,
		func(c *Config) *int { return &c.Meaning.Encoder.Processors }, "Processors that the site's own encoder uses."),
	text("meaning.encoder.url", "", restart, func(c *Config) *string { return &c.Meaning.Encoder.URL },
		"Server that speaks the OpenAI embeddings protocol, such as http://127.0.0.1:8080/v1."),
	text("meaning.encoder.model", "", restart, func(c *Config) *string { return &c.Meaning.Encoder.Model },
		"Name of the model on the server."),
	text("meaning.encoder.prefix", "", restart, func(c *Config) *string { return &c.Meaning.Encoder.Prefix },
		"Text that the model needs before each sentence, for example 'query: ' for the E5 family."),
	text("meaning.encoder.key_file", "", restart, func(c *Config) *string { return &c.Meaning.Encoder.KeyFile },
		"File whose first line is the server's key, readable by the site only."),
	number("meaning.encoder.batch", "32", restart, "sentences", 1, remote.MaxBatch, func(c *Config) *int { return &c.Meaning.Encoder.Batch },
		"Maximum sentences in a request."),
	duration("meaning.encoder.timeout", "30s", restart, time.Second, remote.MaxTimeout,
		func(c *Config) *time.Duration { return &c.Meaning.Encoder.Timeout },
		"Maximum time for a request; if the server is slower, the check continues without it."),
	number("meaning.encoder.dimensions", "0", restart, "numbers", 0, remote.MaxDimensions,
		func(c *Config) *int { return &c.Meaning.Encoder.Dimensions }, "Dimensions of the model's vectors. 0: as in the first vector."),
	number("meaning.encoder.keep", "100000", restart, "sentences", 0, maxVectors,
		func(c *Config) *int { return &c.Meaning.Encoder.Keep },
		"Maximum sentences whose vectors the store keeps, at about 1 kB each, until their document or check is deleted."),
	yesNo("meaning.encoder.allow_text_to_leave", "false", restart, func(c *Config) *bool { return &c.Meaning.Encoder.AllowTextToLeave },
		"Allow sentences to be sent to a server on another machine."),
}

// alone makes a key take effect while a site of one machine runs.
func alone(k Key) Key {
	k.Alone = true
	return k
}

// encoder checks the keys of the encoder together.
func (p *parser) encoder() {
	e := p.config.Meaning.Encoder
	if e.Command != "" && e.URL != "" {
		p.faults = append(p.faults, Fault{File: p.file, Line: p.config.origins["meaning.encoder.command"].Line, Key: "meaning.encoder.command",
			Problem: "the site does not run its own encoder, because meaning.encoder.url is set"})
	}
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
