package federation

import (
	"context"
	"errors"
	"fmt"

	"concordat"
	"concordat/crypto"
	"concordat/federation/wire"
)

// Leads asks with meaning cells, which the caller must pad. If the partner's version does not support the question, the partner
// rejects the message; the error then wraps errors.ErrUnsupported.
func (c *Client) Leads(ctx context.Context, a *concordat.LeadAsk) (*concordat.LeadAnswer, error) {
	payload, err := wire.AppendLeadAsk(nil, a)
	if err != nil {
		return nil, err
	}
	v, statement, err := exchange(ctx, c, crypto.TypeLeads, payload, answering(wire.ParseLeadAnswer, func(v *concordat.LeadAnswer) error {
		return checkLeads(a, v)
	}))
	var failed *Error
	if errors.As(err, &failed) && failed.Kind == KindRejected {
		return nil, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	if err != nil {
		return nil, err
	}
	v.Statement = statement
	return v, nil
}

// checkLeads returns an error for an answer that does not fit a.
func checkLeads(a *concordat.LeadAsk, t *concordat.LeadAnswer) error {
	if len(t.Libraries) != len(a.Libraries) {
		return fmt.Errorf("the answer covers %d libraries, but %d were requested", len(t.Libraries), len(a.Libraries))
	}
	for i, l := range t.Libraries {
		if l.Library != a.Libraries[i] {
			return fmt.Errorf("the answer is for library %q, but %q was requested", l.Library, a.Libraries[i])
		}
	}
	for _, d := range t.Documents {
		if t.Libraries[d.Library].Refusal != nil {
			return fmt.Errorf("unexpected document from library %q, which refused the question", t.Libraries[d.Library].Library)
		}
	}
	for _, h := range t.Hits {
		if h.Cells >= len(a.Cells) {
			return fmt.Errorf("the answer refers to cells %d, but the question has only %d", h.Cells, len(a.Cells))
		}
	}
	return nil
}
