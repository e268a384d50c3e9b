package view

import (
	"time"

	"concordat"
	"concordat/store"
)

// Partner is a site that can ask this site and be asked by it.
type Partner struct {
	Site      concordat.SiteID   `json:"site"`
	Name      string             `json:"name" doc:"The partner's own name for itself, or its alias"`
	Alias     string             `json:"alias,omitempty" doc:"Name given here, unique among partners"`
	State     store.PartnerState `json:"state"`
	Invited   bool               `json:"invited" doc:"true: this site invited the partner; false: the partner invited this site"`
	Words     string             `json:"words,omitempty" doc:"The six words that both sides compare before they confirm"`
	Made      time.Time          `json:"made"`
	Confirmed time.Time          `json:"confirmed,omitzero"`
	Revoked   time.Time          `json:"revoked,omitzero"`
	Asked     int                `json:"asked" doc:"Sentences of submissions that the partner was asked about"`
}

// OfPartner returns a partner under its display name.
func OfPartner(p store.Partner, name string, asked int) Partner {
	return Partner{p.Site, name, p.Name, p.State, p.Invited, p.Words, p.Made, p.Confirmed, p.Revoked, asked}
}
