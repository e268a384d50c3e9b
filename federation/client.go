package federation

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation/wire"
)

// Client represents a partner at this site. It is safe for concurrent use.
type Client struct {
	site  concordat.SiteID
	order [32]byte // key for the order of sentences
	link  link
	// journal receives other sites' audit heads.
	journal Journal
	// observe, which can be nil, receives the outcome of each call.
	observe func(site concordat.SiteID, outcome Outcome, took time.Duration)
}

// A link sends one payload to a partner and returns the payload that answers it, with the partner's statement. It fails with
// *concordat.Refusal or *Error.
type link interface {
	exchange(ctx context.Context, t crypto.MessageType, payload []byte) ([]byte, concordat.Statement, error)
	renew(ctx context.Context) (*crypto.Card, error)
	close()
}

// Site returns the partner's identity.
func (c *Client) Site() concordat.SiteID { return c.site }

// garbage returns the error for an unusable answer from a partner.
func (c *Client) garbage(what string, err error) error {
	return &Error{Site: c.site, Kind: KindGarbage, Err: fmt.Errorf("%s: %w", what, err)}
}

// exchange sends a payload and parses the answer with read, which must also reject answers to a different question.
func exchange[T any](ctx context.Context, c *Client, t crypto.MessageType, payload []byte,
	read func([]byte) (T, error)) (T, concordat.Statement, error) {
	began := time.Now()
	v, statement, err := exchanged(ctx, c, t, payload, read)
	if c.observe != nil {
		c.observe(c.site, outcomeOf(err), time.Since(began))
	}
	return v, statement, err
}

func exchanged[T any](ctx context.Context, c *Client, t crypto.MessageType, payload []byte,
	read func([]byte) (T, error)) (T, concordat.Statement, error) {
	var none T
	body, statement, err := c.link.exchange(ctx, t, payload)
	if err != nil {
		return none, concordat.Statement{}, failure(ctx, c.site, KindDown, err)
	}
	v, err := read(body)
	if err != nil {
		return none, concordat.Statement{}, c.garbage(kinds[t], err)
	}
	return v, statement, nil
}

// answering returns a parser that accepts only answers that pass check.
func answering[T any](read func([]byte) (T, error), check func(T) error) func([]byte) (T, error) {
	return func(b []byte) (T, error) {
		v, err := read(b)
		if err == nil {
			err = check(v)
		}
		return v, err
	}
}

// Catalogue returns the libraries that the partner opens to this site.
func (c *Client) Catalogue(ctx context.Context) (*concordat.Catalogue, error) {
	payload, err := wire.AppendCatalogueAsk(nil)
	if err != nil {
		return nil, err
	}
	var heads []*crypto.Head
	v, statement, err := exchange(ctx, c, crypto.TypeCatalogue, payload, answering(wire.ParseCatalogue, func(v *concordat.Catalogue) error {
		for _, b := range v.Heads {
			h, err := crypto.ParseHead(b)
			if err != nil {
				return err
			}
			heads = append(heads, h)
		}
		return nil
	}))
	if err != nil {
		return nil, err
	}
	v.Statement = statement
	if len(heads) > 0 {
		c.journal.HeardOthers(c.site, heads)
	}
	return v, nil
}

// Ask performs the first round. The question is sent padded and shuffled; the answer uses the caller's numbers.
func (c *Client) Ask(ctx context.Context, a *concordat.Ask) (*concordat.SiteAnswer, error) {
	padded, order, err := wire.Pad(a, orderKey(c.order, c.site, a.Job, concordat.Padded(len(a.Sentences))), rand.Reader)
	if err != nil {
		return nil, err
	}
	payload, err := wire.AppendAsk(nil, padded)
	if err != nil {
		return nil, err
	}
	v, statement, err := exchange(ctx, c, crypto.TypeQuery, payload, answering(wire.ParseAnswer, func(v *wire.EpochAnswer) error {
		if v.Epoch != a.Epoch || v.Scheme != a.Scheme {
			return fmt.Errorf("the partner compared fingerprints of epoch %s, scheme %s; want epoch %s, scheme %s: %w", v.Epoch, v.Scheme, a.Epoch, a.Scheme,
				concordat.ErrScheme)
		}
		if err := checkAnswer(a, &v.Answer); err != nil {
			return err
		}
		return wire.Restore(&v.Answer, order, len(a.Sentences))
	}))
	if err != nil {
		return nil, err
	}
	v.Answer.Statement = statement
	return &v.Answer, nil
}

// orderKey returns the key for the order in which a job's n padded sentences are sent to a partner. The key depends on nothing else, so
// that the sentences in a later alert can still be identified.
func orderKey(key [32]byte, site concordat.SiteID, job concordat.JobID, n int) [32]byte {
	mac := hmac.New(sha256.New, key[:])
	mac.Write([]byte("concordat/order/1\x00"))
	mac.Write(job[:])
	mac.Write(binary.BigEndian.AppendUint32(nil, uint32(n)))
	mac.Write([]byte(site))
	return [32]byte(mac.Sum(nil))
}

// checkAnswer returns an error for an answer that does not fit a, or that discloses more than its stated level allows.
func checkAnswer(a *concordat.Ask, t *concordat.SiteAnswer) error {
	if len(t.Libraries) != len(a.Libraries) {
		return fmt.Errorf("the answer covers %d libraries, but %d were requested", len(t.Libraries), len(a.Libraries))
	}
	for i, l := range t.Libraries {
		if l.Library != a.Libraries[i] {
			return fmt.Errorf("the answer is for library %q, but %q was requested", l.Library, a.Libraries[i])
		}
		if rank(l.Level) > rank(a.Level) {
			return fmt.Errorf("level %s of library %q exceeds the requested maximum, %s", l.Level, l.Library, a.Level)
		}
	}
	for _, d := range t.Documents {
		if rank(t.Libraries[d.Library].Level) < rank(concordat.ShowCounts) {
			return fmt.Errorf("unexpected document from a library at level %s", t.Libraries[d.Library].Level)
		}
	}
	for _, h := range t.Hits {
		if l := t.Libraries[t.Documents[h.Document].Library].Level; rank(l) < rank(concordat.ShowMetadata) {
			return fmt.Errorf("unexpected match in a library at level %s", l)
		}
	}
	return nil
}

// rank returns the index of a level, 0 to 5.
func rank(s concordat.Show) int {
	for i, l := range concordat.Levels() {
		if l == s {
			return i
		}
	}
	return 0
}

// Outline performs the second round. It returns the documents in the order requested.
func (c *Client) Outline(ctx context.Context, a *concordat.OutlineAsk) (*concordat.Outlines, error) {
	payload, err := wire.AppendOutlineAsk(nil, a)
	if err != nil {
		return nil, err
	}
	v, statement, err := exchange(ctx, c, crypto.TypeOutline, payload, answering(wire.ParseOutlines, func(v *concordat.Outlines) error {
		return checkOutlines(a, v)
	}))
	if err != nil {
		return nil, err
	}
	v.Statement = statement
	return v, nil
}

// checkOutlines returns an error for outlines of documents that were not requested, and for impossible
// outlines.
func checkOutlines(a *concordat.OutlineAsk, v *concordat.Outlines) error {
	if len(v.Documents) != len(a.Documents) {
		return fmt.Errorf("the answer covers %d documents, but %d were requested", len(v.Documents), len(a.Documents))
	}
	for i, d := range v.Documents {
		if d.Handle != a.Documents[i].Handle {
			return fmt.Errorf("document %d of the answer is not the one requested", i)
		}
		if err := checkUnits(&d); err != nil {
			return err
		}
	}
	return nil
}

// checkUnits returns an error for units out of text order, or outside the text.
func checkUnits(o *concordat.Outline) error {
	ordinal, end := -1, 0
	for _, u := range o.Units {
		if u.Ordinal <= ordinal || u.Span.Start < end || u.Span.End > o.Length {
			return fmt.Errorf("unit %d (bytes %d to %d of %d) does not come after unit %d, which ends at byte %d", u.Ordinal, u.Span.Start, u.Span.End, o.Length, ordinal, end)
		}
		ordinal, end = u.Ordinal, u.Span.End
	}
	return nil
}

// Edges performs the edge round. It returns the passages in the order requested.
func (c *Client) Edges(ctx context.Context, a *concordat.EdgesAsk) (*concordat.Edges, error) {
	payload, err := wire.AppendEdgesAsk(nil, a)
	if err != nil {
		return nil, err
	}
	v, statement, err := exchange(ctx, c, crypto.TypeEdges, payload, answering(wire.ParseEdges, func(v *concordat.Edges) error {
		if len(v.Passages) != len(a.Passages) {
			return fmt.Errorf("the answer covers %d passages, but %d were requested", len(v.Passages), len(a.Passages))
		}
		for i, copies := range v.Passages {
			if err := checkCopies(&a.Passages[i], copies); err != nil {
				return err
			}
		}
		return nil
	}))
	if err != nil {
		return nil, err
	}
	v.Statement = statement
	return v, nil
}

// checkCopies returns an error for copies outside the passage in the question.
func checkCopies(p *concordat.EdgePassage, copies []concordat.EdgeCopy) error {
	if len(copies) > len(p.Words) {
		return fmt.Errorf("more copies (%d) than words (%d)", len(copies), len(p.Words))
	}
	for _, x := range copies {
		if x.From < 0 || x.To <= x.From || x.To > len(p.Words) || x.Span.Start < p.Span.Start || x.Span.End > p.Span.End ||
			x.Span.Len() <= 0 {
			return fmt.Errorf("copy out of range: words %d to %d of %d, bytes %d to %d within %d to %d", x.From, x.To, len(p.Words), x.Span.Start, x.Span.End,
				p.Span.Start, p.Span.End)
		}
	}
	return nil
}

// Reveal requests more of a match, or repeats such a request to learn of a later decision.
func (c *Client) Reveal(ctx context.Context, a *concordat.RevealAsk) (*concordat.Revealed, error) {
	payload, err := wire.AppendRevealAsk(nil, a)
	if err != nil {
		return nil, err
	}
	v, statement, err := exchange(ctx, c, crypto.TypeReveal, payload, answering(wire.ParseRevealed, func(v *concordat.Revealed) error {
		return checkRevealed(a, v)
	}))
	if err != nil {
		return nil, err
	}
	v.Statement = statement
	return v, nil
}

// checkRevealed returns an error for passages that were not requested, and for runs outside the asker's text.
func checkRevealed(a *concordat.RevealAsk, r *concordat.Revealed) error {
	want := 0
	if r.State == concordat.DisclosureGranted {
		want = len(a.Passages)
	}
	if len(r.Passages) != want {
		return fmt.Errorf("the answer contains %d passages in state %s, but %d were requested", len(r.Passages), r.State, len(a.Passages))
	}
	for i, p := range r.Passages {
		if p.Text != "" && a.Level != concordat.ShowPassage {
			return fmt.Errorf("unexpected text of a passage at level %s", a.Level)
		}
		end := 0
		for _, s := range p.Shared {
			if s.Start < end || s.End > len(a.Passages[i].Text) {
				return fmt.Errorf("shared words out of range or out of order: bytes %d to %d of %d, after byte %d", s.Start, s.End, len(a.Passages[i].Text), end)
			}
			end = s.End
		}
	}
	return nil
}

// Ship fetches the changes to a library.
func (c *Client) Ship(ctx context.Context, a *concordat.ShipAsk) (*concordat.Shipment, error) {
	payload, err := wire.AppendShipAsk(nil, a)
	if err != nil {
		return nil, err
	}
	v, statement, err := exchange(ctx, c, crypto.TypeShip, payload, wire.ParseShipment)
	if err != nil {
		return nil, err
	}
	v.Statement = statement
	return v, nil
}

// Notify sends the partner a notice. On return, the partner has received it.
func (c *Client) Notify(ctx context.Context, n *concordat.Notice) error {
	payload, err := wire.AppendNotice(nil, n)
	if err != nil {
		return err
	}
	_, _, err = exchange(ctx, c, crypto.TypeNotice, payload, func(b []byte) (struct{}, error) { return struct{}{}, wire.ParseReceived(b) })
	return err
}

// Grant fetches a federation's secrets from the site that leads it.
func (c *Client) Grant(ctx context.Context, f concordat.FederationID) (*crypto.FederationGrant, error) {
	payload, err := wire.AppendGrantAsk(nil, &wire.GrantAsk{Federation: f})
	if err != nil {
		return nil, err
	}
	g, _, err := exchange(ctx, c, crypto.TypeFederation, payload, func(body []byte) (*crypto.FederationGrant, error) {
		b, err := wire.ParseGrant(body)
		if err != nil {
			return nil, err
		}
		g, err := crypto.ParseFederationGrant(b)
		if err == nil && (g.Federation.Name != string(f) || g.Leader.String() != string(c.site)) {
			err = fmt.Errorf("the grant is for federation %s, led by site %s", g.Federation.Name, g.Leader)
		}
		return g, err
	})
	return g, err
}

// Head requests only the head of the partner's audit log, and passes it to the client's journal.
func (c *Client) Head(ctx context.Context) (*wire.Head, error) {
	payload, err := wire.AppendHeadAsk(nil)
	if err != nil {
		return nil, err
	}
	h, _, err := exchange(ctx, c, crypto.TypeAuditHead, payload, wire.ParseHead)
	return h, err
}

// Refresh fetches the partner's card and passes it to the roster if it is newer. It should be called about once a day. It fails if the
// partner presents a card that does not succeed the current one.
func (c *Client) Refresh(ctx context.Context) error {
	began := time.Now()
	_, err := c.link.renew(ctx)
	if c.observe != nil {
		c.observe(c.site, outcomeOf(err), time.Since(began))
	}
	return err
}

// Close ends idle connections.
func (c *Client) Close() { c.link.close() }
