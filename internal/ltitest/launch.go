package ltitest

import (
	"encoding/json"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Launch makes the browser sign in to the tool with the claims of a launch, overridden by the given ones, and returns the answer to the
// last step. If change is not nil, it can modify the form sent in that step.
func (p *Platform) Launch(browser *http.Client, loginURL string, claims map[string]any, change func(url.Values)) *http.Response {
	p.t.Helper()
	at, form := p.Leave(browser, loginURL, claims)
	if change != nil {
		change(form)
	}
	resp, err := browser.PostForm(at, form)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp
}

// Leave performs Launch up to the last step. It returns the address that receives the form, and the form's content.
func (p *Platform) Leave(browser *http.Client, loginURL string, claims map[string]any) (at string, form url.Values) {
	p.t.Helper()
	p.with(func() { p.pending = claims })
	q := url.Values{"iss": {p.URL}, "login_hint": {"user-7"}, "lti_message_hint": {"m"},
		"target_link_uri": {strings.TrimSuffix(loginURL, "/login") + "/launch"}, "client_id": {Client}, "lti_deployment_id": {Deployment}}
	resp, err := browser.Get(loginURL + "?" + q.Encode())
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // the body is only read
	var out struct{ At, State, Token string }
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		p.t.Fatalf("the tool did not redirect the browser to the platform: %s, %v", resp.Status, err)
	}
	return out.At, url.Values{"id_token": {out.Token}, "state": {out.State}}
}

// auth signs a browser in. A real platform answers with a form that submits itself.
func (p *Platform) auth(rw http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	for name, want := range map[string]string{"scope": "openid", "response_type": "id_token", "response_mode": "form_post",
		"prompt": "none", "client_id": Client, "login_hint": "user-7", "lti_message_hint": "m"} {
		if q.Get(name) != want {
			p.t.Errorf("the sign-in request has %s %q, want %q", name, q.Get(name), want)
		}
	}
	p.mu.Lock()
	c := p.pending
	p.mu.Unlock()
	all := p.Claims(c)
	if _, ok := c["nonce"]; !ok {
		all["nonce"] = q.Get("nonce")
	}
	if strings.Contains(r.Header.Get("Accept"), "text/html") { // the caller is a real browser
		rw.Header().Set("Content-Type", "text/html")
		_ = page.Execute(rw, []string{q.Get("redirect_uri"), q.Get("state"), p.Sign(all)}) // a disconnected browser fails its own test
		return
	}
	answer(rw, http.StatusOK, map[string]string{"At": q.Get("redirect_uri"), "State": q.Get("state"), "Token": p.Sign(all)})
}

var page = template.Must(template.New("").Parse(`<!doctype html><title>platform</title><form method="post" action="{{index . 0}}"><input type="hidden" name="state" value="{{index . 1}}"><input type="hidden" name="id_token" value="{{index . 2}}"></form><script>document.forms[0].submit()</script>`))

// Next sets the claims of the next launch, for a browser that opens LoginAt itself.
func (p *Platform) Next(claims map[string]any) { p.with(func() { p.pending = claims }) }

// LoginAt returns the address where a browser starts a launch.
func (p *Platform) LoginAt(loginURL string) string {
	return loginURL + "?" + url.Values{"iss": {p.URL}, "login_hint": {"user-7"}, "lti_message_hint": {"m"}, "client_id": {Client}}.Encode()
}

// returned receives the answer to a deep linking request.
func (p *Platform) returned(rw http.ResponseWriter, r *http.Request) {
	p.with(func() { p.answers = append(p.answers, r.PostFormValue("JWT")) })
	rw.Header().Set("Content-Type", "text/html")
	_, _ = io.WriteString(rw, "<!doctype html><title>back</title><h1 id=back>back at the platform</h1>") // errors fail the browser's test
}

// Answers returns the answers to deep linking requests.
func (p *Platform) Answers() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.answers)
}

func (p *Platform) offer(rw http.ResponseWriter, _ *http.Request) {
	answer(rw, http.StatusOK, map[string]any{"issuer": p.URL, "authorization_endpoint": p.AuthURL(), "token_endpoint": p.TokenURL(),
		"jwks_uri":              p.KeysURL(),
		"registration_endpoint": p.URL + "/register",
		"https://purl.imsglobal.org/spec/lti-platform-configuration": map[string]any{"product_family_code": "fake", "version": "1"}})
}

func (p *Platform) register(rw http.ResponseWriter, r *http.Request) {
	var got struct {
		Keys   string `json:"jwks_uri"`
		Method string `json:"token_endpoint_auth_method"`
		Login  string `json:"initiate_login_uri"`
	}
	if err := json.NewDecoder(r.Body).Decode(&got); err != nil || got.Keys == "" || got.Login == "" || got.Method != "private_key_jwt" ||
		r.Header.Get("Authorization") != "Bearer register-me" {
		answer(rw, http.StatusBadRequest, map[string]string{"error": "invalid_client_metadata"})
		return
	}
	p.Tool(got.Keys)
	answer(rw, http.StatusOK,
		map[string]any{"client_id": Client,
			"https://purl.imsglobal.org/spec/lti-tool-configuration": map[string]any{"deployment_id": Deployment}})
}
