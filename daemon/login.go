package daemon

import (
	"concordat/instance/config"
	"concordat/store"
	"concordat/web/pages/accounts"
)

// loginOptions returns the configured sign-in options.
func loginOptions(c *config.Config) accounts.Login {
	l := accounts.Login{AdministratorsOnly: c.Login.Password == config.PasswordAdministrators}
	for _, p := range c.Login.OIDC {
		roles := map[string]store.Role{}
		for value, r := range p.Roles {
			roles[value] = store.Role(r)
		}
		l.Providers = append(l.Providers, accounts.Provider{Name: p.Name, Title: p.Title, Issuer: p.Issuer, ClientID: p.ClientID,
			ClientSecret: p.ClientSecret.Reveal(),
			Scopes:       p.Scopes, RoleClaim: p.RoleClaim, Roles: roles, DefaultRole: store.Role(p.DefaultRole), AccountClaim: p.AccountClaim,
			Create: p.Create, LinkVerified: p.LinkVerified, UpdateRole: p.UpdateRole, ClockSkew: p.ClockSkew, MaxAge: p.MaxAge})
	}
	return l
}
