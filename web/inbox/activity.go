package inbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"concordat"
)

// Types of activities (Activity Streams 2.0, vocabulary, section 3; COAR Notify 1.0.1).
const (
	typeOffer           = "Offer"
	typeUndo            = "Undo"
	typeAnnounce        = "Announce"
	typeAccept          = "Accept"
	typeReject          = "Reject"
	typeTentativeAccept = "TentativeAccept"
	typeTentativeReject = "TentativeReject"
	typeFlag            = "Flag"

	actionReview        = "coar-notify:ReviewAction"
	actionEndorsement   = "coar-notify:EndorsementAction"
	actionUnprocessable = "coar-notify:UnprocessableNotification"
)

// contexts are the namespaces of a notification. The first namespace and one of the other two are required.
var contexts = []string{"https://www.w3.org/ns/activitystreams", "https://coar-notify.net", "https://purl.org/coar/notify"}

const (
	maxTypes = 20   // types of one object
	maxURI   = 2000 // bytes of an address
	maxWords = 1000 // bytes of a text written by a sender
)

// list is a JSON value that is written either alone or in an array.
type list []string

// UnmarshalJSON accepts both forms and drops values that are not text.
func (l *list) UnmarshalJSON(b []byte) error {
	*l = nil
	var raw any
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	all, ok := raw.([]any)
	if !ok {
		all = []any{raw}
	}
	for _, one := range all[:min(len(all), maxTypes)] {
		if s, ok := one.(string); ok {
			*l = append(*l, s)
		}
	}
	return nil
}

// has reports whether the list contains a type, by its name or by its address.
func (l list) has(name string) bool {
	_, short, _ := strings.Cut(name, ":")
	return slices.ContainsFunc(l, func(s string) bool {
		return s == name || s == contexts[0]+"#"+name ||
			short != "" && (strings.HasPrefix(s, contexts[1]) || strings.HasPrefix(s, contexts[2])) && strings.HasSuffix(s, "/"+short)
	})
}

// thing is an object of an activity, given either by its address alone or with properties.
type thing struct {
	ID    string `json:"id"`
	Type  list   `json:"type,omitempty"`
	Inbox string `json:"inbox,omitempty"`
	Media string `json:"mediaType,omitempty"`
	Items things `json:"ietf:item,omitzero"`
}

// things is a list of things, written as one thing or as an array.
type things []thing

// plainThing is thing without its methods, for decoding.
type plainThing thing

// UnmarshalJSON accepts an address or an object.
func (t *thing) UnmarshalJSON(b []byte) error {
	*t = thing{}
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte(`"`)) {
		return json.Unmarshal(b, &t.ID)
	}
	return json.Unmarshal(b, (*plainThing)(t))
}

// UnmarshalJSON accepts one thing or an array of things.
func (t *things) UnmarshalJSON(b []byte) error {
	*t = nil
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte(`[`)) {
		var all []thing
		err := json.Unmarshal(b, &all)
		*t = all[:min(len(all), maxTypes)]
		return err
	}
	var one thing
	err := json.Unmarshal(b, &one)
	*t = things{one}
	return err
}

// activity contains the properties of a notification that the site reads.
type activity struct {
	Context   list   `json:"@context"`
	ID        string `json:"id"`
	Type      list   `json:"type"`
	Origin    thing  `json:"origin"`
	Target    thing  `json:"target"`
	Object    thing  `json:"object"`
	InReplyTo thing  `json:"inReplyTo,omitzero"`
	Summary   string `json:"summary,omitempty"`
}

// parse parses a notification. If a property that the protocol always requires is missing, parse returns an error that wraps
// concordat.ErrInvalid and names the property.
func parse(b []byte) (activity, error) {
	var a activity
	if err := json.Unmarshal(b, &a); err != nil {
		return a, fmt.Errorf("notification: %w: %v", concordat.ErrInvalid, err)
	}
	var faults []string
	want := func(ok bool, fault string) {
		if !ok {
			faults = append(faults, fault)
		}
	}
	named := func(i int) bool {
		return slices.ContainsFunc(a.Context, func(c string) bool { return strings.TrimSuffix(c, "/") == contexts[i] })
	}
	want(named(0) && (named(1) || named(2)), "@context must have "+contexts[0]+" and "+contexts[1])
	want(isURI(a.ID), "id must be a URI")
	want(len(a.Type) > 0, "type is missing")
	want(isWeb(a.Origin.ID), "origin.id must be an HTTP address")
	want(isWeb(a.Origin.Inbox), "origin.inbox must be an HTTP address")
	want(isWeb(a.Target.ID), "target.id must be an HTTP address")
	want(isURI(a.Object.ID), "object.id must be a URI")
	if len(faults) > 0 {
		return a, fmt.Errorf("notification: %w: %s", concordat.ErrInvalid, strings.Join(faults, "; "))
	}
	return a, nil
}

func isURI(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme != "" && len(s) <= maxURI
}

func isWeb(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && len(s) <= maxURI
}

// below reports whether an address is within one of a token's origins. It is if it has the same scheme, host and port, and its path
// begins with all segments of the origin's path.
func below(address string, origins []string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || strings.Contains(u.Path, "/../") || strings.HasSuffix(u.Path, "/..") {
		return false
	}
	at := strings.ToLower(u.Scheme+"://"+u.Host) + strings.TrimSuffix(u.EscapedPath(), "/")
	return slices.ContainsFunc(origins, func(o string) bool { return at == o || strings.HasPrefix(at, o+"/") })
}

// cut shortens a text from a sender.
func cut(s string) string {
	if len(s) <= maxWords {
		return s
	}
	return strings.ToValidUTF8(s[:maxWords], "")
}

// without returns the notification without its @context, as answers repeat it.
func without(body []byte) json.RawMessage {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil {
		return json.RawMessage(`{}`) // it was parsed successfully before it was stored
	}
	delete(all, "@context")
	b, err := json.Marshal(all)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return b
}
