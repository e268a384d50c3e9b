package view

import (
	"time"

	"concordat/store"
)

// Platform is a learning platform.
type Platform struct {
	ID            string    `json:"id" doc:"Short name: lower-case letters, digits and hyphens" pattern:"^[a-z0-9][a-z0-9-]{0,31}$"`
	Name          string    `json:"name,omitempty" maxLength:"1000"`
	Issuer        string    `json:"issuer" minLength:"1" maxLength:"1000"`
	Client        string    `json:"client" minLength:"1" maxLength:"1000" doc:"Client id of this site at the platform"`
	AuthURL       string    `json:"auth_url" maxLength:"4000" doc:"Authentication request address"`
	TokenURL      string    `json:"token_url" maxLength:"4000" doc:"Access token address"`
	TokenAudience string    `json:"token_audience,omitempty" maxLength:"4000" doc:"Audience of token requests; none: token_url"`
	KeysURL       string    `json:"keys_url" maxLength:"4000" doc:"Public keyset address"`
	Deployments   []string  `json:"deployments,omitempty" maxItems:"1000" doc:"Deployment ids that are accepted; *: any"`
	Hosts         []string  `json:"hosts,omitempty" maxItems:"100" doc:"Other hosts of the platform's services; a leading dot includes all subdomains"`
	Disabled      bool      `json:"disabled,omitempty"`
	Made          time.Time `json:"made,omitzero" readOnly:"true"`
}

// OfPlatform converts a platform to the form for programs.
func OfPlatform(p store.LTIPlatform) Platform {
	return Platform{p.ID, p.Name, p.Issuer, p.Client, p.AuthURL, p.TokenURL, p.TokenAudience, p.KeysURL, p.Deployments, p.Hosts,
		p.Disabled, p.Made}
}
