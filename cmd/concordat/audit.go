package main

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/crypto"
	"concordat/instance"
	"concordat/store"
)

func (a *app) auditCommand() *cobra.Command {
	c := &cobra.Command{Use: "audit", Short: "Show, verify and export what this site did with and for others", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(a.auditShow(), a.auditVerify(), a.auditExport())
	return c
}

// knownHeads returns the heads that this site kept of a partner.
func knownHeads(ctx context.Context, db *store.DB, site concordat.SiteID) ([]store.AuditHead, []store.Witness, error) {
	ws, err := db.Witnesses(ctx, site)
	if err != nil {
		return nil, nil, err
	}
	heads := make([]store.AuditHead, len(ws))
	for i, w := range ws {
		heads[i] = store.AuditHead{Seq: int64(w.Seq), Hash: hex.EncodeToString(w.Hash[:])}
	}
	return heads, ws, nil
}

// storedCards returns all cards of a site that the store has, newest first.
func storedCards(ctx context.Context, o *instance.Instance, site concordat.SiteID) ([]*crypto.Card, error) {
	signed, err := o.Store.Cards(ctx, site)
	if err != nil {
		return nil, err
	}
	cards := make([]*crypto.Card, len(signed))
	for i, s := range signed {
		if cards[i], err = crypto.ParseCard(s.Card); err != nil {
			return nil, fmt.Errorf("card %d of %s: %w", s.Serial, site, err)
		}
	}
	return cards, nil
}

// exportedHead is the last line of an export.
type exportedHead struct {
	Site crypto.SiteID `json:"site"`
	Seq  uint64        `json:"seq"`
	Hash string        `json:"hash"`
	Head []byte        `json:"head"` // signed; base64 in JSON
}
