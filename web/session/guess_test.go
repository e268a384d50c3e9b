package session_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"concordat/internal/suite"
	"concordat/internal/webtest"
	"concordat/store"
	"concordat/web"
	"concordat/web/passwords"
)

const secretOfBo = "a heron stands in the reeds"

// guarded returns a site behind a proxy that reports addresses, with the accounts bo and zoe, who both have the password secretOfBo.
func guarded(t *testing.T, cost passwords.Cost) (d *webtest.Site, bo *webtest.Person) {
	t.Helper()
	d = webtest.NewWith(t, true, func(o *web.Options) {
		o.Hashing = cost
		o.Policy.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	adam := d.SignedIn(t, "adam", store.RoleAdministrator)
	for _, name := range []string{"zoe", "bo"} {
		page := adam.Post("/people", http.StatusOK, url.Values{"name": {name}, "role": {"submitter"}})
		link := regexp.MustCompile(`/join\?key=[A-Z2-7]+`).FindString(page)
		bo = d.Visitor(t)
		bo.Post("/join", http.StatusOK, url.Values{"key": {strings.TrimPrefix(link, "/join?key=")}, "password": {secretOfBo},
			"again": {secretOfBo}})
	}
	return d, bo
}

// posted sends a form from the given address and returns the status, without following a redirection.
func posted(t *testing.T, c *http.Client, to, address string, form url.Values) (code int, retry string) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-Forwarded-For", address)
	direct := &http.Client{Jar: c.Jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := direct.Do(r)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	resp.Body.Close()
	return resp.StatusCode, resp.Header.Get("Retry-After")
}

// TestGuessesAtOnce: of 300 simultaneous guesses, from any number of addresses, no more are tried than are allowed to fail, and another
// user can sign in within a second at the same time.
func TestGuessesAtOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: verifies passwords at what guessing them costs")
	}
	const guesses = 300
	one := func(int) string { return "198.51.100.7" }
	many := func(i int) string { return fmt.Sprintf("198.51.%d.%d", 100+i/200, 1+i%200) }
	signIn := func(name func(int) string) func(i int) (string, url.Values) {
		return func(i int) (string, url.Values) {
			return "/login", url.Values{"name": {name(i)}, "password": {fmt.Sprint("guess ", i)}}
		}
	}
	for name, c := range map[string]struct {
		from  func(int) string
		ask   func(int) (string, url.Values)
		bound int // maximum number of tries
		slow  bool
	}{
		"one account from one address":   {one, signIn(func(int) string { return "bo" }), 5, false},
		"one account from 300 addresses": {many, signIn(func(int) string { return "bo" }), 100, true},
		"300 accounts from one address":  {one, signIn(func(i int) string { return fmt.Sprint("account", i) }), 50, true},
		"the form of the password": {one, func(i int) (string, url.Values) {
			return "/account/password", url.Values{"old": {fmt.Sprint("guess ", i)}, "password": {"another long one"}, "again": {"another long one"}}
		}, 5, false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.slow {
				suite.Rest(t, "verifies fifty passwords and more")
			} else {
				suite.Done(t)
			}
			d, bo := guarded(t, passwords.Cost{})
			zoe := url.Values{"name": {"zoe"}, "password": {secretOfBo}}
			began := time.Now()
			if code, _ := posted(t, http.DefaultClient, d.URL+"/login", "192.0.2.1", zoe); code != http.StatusSeeOther {
				t.Fatalf("zoe, alone: %d", code)
			}
			alone := time.Since(began)
			var mu sync.Mutex
			codes := map[int]int{} // guarded by mu
			var all sync.WaitGroup
			for i := range guesses {
				all.Go(func() {
					path, form := c.ask(i)
					code, retry := posted(t, bo.Client, d.URL+path, c.from(i), form)
					mu.Lock()
					defer mu.Unlock()
					codes[code]++
					if (code == http.StatusServiceUnavailable || code == http.StatusTooManyRequests) && retry == "" {
						t.Errorf("%d without Retry-After", code)
					}
				})
			}
			for done := false; !done && d.Web.Sessions.Passwords.Waiters() == 0; { // until a caller waits, or all have been refused
				mu.Lock()
				sum := 0
				for _, n := range codes {
					sum += n
				}
				done = sum == guesses
				mu.Unlock()
				time.Sleep(time.Millisecond) // there is no other sign
			}
			tried := func() int {
				mu.Lock()
				defer mu.Unlock()
				return codes[http.StatusForbidden]
			}
			before := tried()
			began = time.Now()
			code, _ := posted(t, http.DefaultClient, d.URL+"/login", "192.0.2.2", zoe)
			took, meanwhile := time.Since(began), tried()-before
			t.Logf("alone %v, meanwhile %v, beside %d guesses", alone.Round(time.Millisecond), took.Round(time.Millisecond), meanwhile)
			// One or two guesses are being tried when zoe signs in; more answers may be pending, but far fewer than the guesses sent
			// before.
			if code != http.StatusSeeOther || meanwhile > guesses/20 {
				t.Errorf("zoe, meanwhile: %d after %d guesses", code, meanwhile)
			}
			if took > 5*time.Minute { // the cost of the guesses to her is counted above, regardless of the machine's load
				t.Errorf("zoe, meanwhile: %v (alone %v)", took, alone)
			}
			all.Wait()
			if codes[http.StatusForbidden] > c.bound || codes[http.StatusForbidden] == 0 ||
				codes[http.StatusForbidden]+codes[http.StatusTooManyRequests]+codes[http.StatusServiceUnavailable] != guesses {
				t.Errorf("answers %v; at most %d tries may be", codes, c.bound)
			}
		})
	}
}

// TestKnownBrowser: a user whose browser has signed in before can sign in while 300 addresses guess at 300 accounts, so that no limit
// applies, and after strangers have exhausted the account's tries. A browser that only appears to be known cannot, and a known browser
// allows no more guesses than an address.
func TestKnownBrowser(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: verifies passwords at what guessing them costs")
	}
	d, _ := guarded(t, passwords.Cost{})
	signIn := func(c *http.Client, address, password string) int {
		code, _ := posted(t, c, d.URL+"/login", address, url.Values{"name": {"zoe"}, "password": {password}})
		return code
	}
	zoe, stranger := d.Visitor(t).Client, d.Visitor(t).Client
	if code := signIn(zoe, "192.0.2.1", secretOfBo); code != http.StatusSeeOther {
		t.Fatalf("zoe, alone: %d", code)
	}
	root, err := url.Parse(d.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range zoe.Jar.Cookies(root) {
		if c.Name == "known" { // change one digit
			v := []byte(c.Value)
			v[len(v)-5] ^= 1
			stranger.Jar.SetCookies(root, []*http.Cookie{{Name: "known", Value: string(v)}})
		}
	}
	var all sync.WaitGroup
	crowd, leave := context.WithCancel(t.Context())
	guess := func(name string, i int) {
		form := url.Values{"name": {name}, "password": {"a guess"}}
		r, err := http.NewRequestWithContext(crowd, http.MethodPost, d.URL+"/login", strings.NewReader(form.Encode()))
		if err != nil {
			t.Error(err)
			return
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("X-Forwarded-For", fmt.Sprintf("198.51.%d.%d", 100+i/200, 1+i%200))
		if resp, err := http.DefaultClient.Do(r); err == nil {
			resp.Body.Close()
		}
	}
	for i := range 300 {
		all.Go(func() { guess(fmt.Sprint("account", i), i) })
	}
	for end := time.Now().Add(time.Minute); d.Web.Sessions.Passwords.Waiters() < 32 && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // there is no other sign
	}
	if code := signIn(zoe, "192.0.2.7", secretOfBo); code != http.StatusSeeOther {
		t.Errorf("zoe, beside 300 guesses at 300 accounts from 300 addresses: %d", code)
	}
	leave()
	all.Wait()

	d.Web.Sessions.LockAccount("zoe")
	if code := signIn(stranger, "192.0.2.9", secretOfBo); code != http.StatusTooManyRequests {
		t.Errorf("with a mark that is not of this site: %d, want 429", code)
	}
	if code := signIn(zoe, "192.0.2.8", secretOfBo); code != http.StatusSeeOther {
		t.Errorf("zoe, whose account strangers have locked: %d", code)
	}
	tried := 0
	for signIn(zoe, "192.0.2.8", "a guess") == http.StatusForbidden {
		tried++
	}
	if tried != 5 {
		t.Errorf("%d guesses with a known browser, want 5", tried)
	}
}

// TestRightPasswordCountsNothing: a person with the right password can sign in any number of times, and the person's earlier failures are
// forgotten.
func TestRightPasswordCountsNothing(t *testing.T) {
	t.Parallel()
	d, _ := guarded(t, webtest.Cheap)
	for range 3 {
		for i := range 4 {
			if code, _ := posted(t, http.DefaultClient, d.URL+"/login", "192.0.2.1",
				url.Values{"name": {"bo"}, "password": {fmt.Sprint("guess ", i)}}); code != http.StatusForbidden {
				t.Fatalf("a guess: %d", code)
			}
		}
		if code, _ := posted(t, http.DefaultClient, d.URL+"/login", "192.0.2.1",
			url.Values{"name": {"bo"}, "password": {secretOfBo}}); code != http.StatusSeeOther {
			t.Fatalf("the password: %d", code)
		}
	}
}

// TestCommonPasswords: common passwords and the account's own name are rejected; a sentence is accepted.
func TestCommonPasswords(t *testing.T) {
	t.Parallel()
	for password, want := range map[string]string{
		"1234567890": "first.common", "0987654321": "first.common", "aaaaaaaaaaaa": "first.common", "abcabcabcabc": "first.common",
		"abcdefghijklm": "first.common", "Password123": "first.common", "qwertyuiop": "first.common", "!!manchester!!": "first.common",
		"QWERTY12345":  "first.common",
		"ada.lovelace": "first.own", "Ada.Lovelace1842": "first.own", "ecalevol.ada!": "first.own", "Countess of L": "first.own",
		"short": "first.short", secretOfBo: "", "xk4!pf09qz": "", "ada.lovelace met babbage": "", "tr0ub4dor&3horse": "",
	} {
		if got := passwords.Fault(password, password, "~ada.lovelace", "Countess of L"); got != want {
			t.Errorf("%q: %q, want %q", password, got, want)
		}
	}
	d, bo := guarded(t, webtest.Cheap)
	bo.Post("/account/password", http.StatusBadRequest, url.Values{"old": {secretOfBo}, "password": {"1234567890"}, "again": {"1234567890"}})
	_, link, err := d.Web.People.NewLink(t.Context(), "test", "zoe")
	if err != nil {
		t.Fatal(err)
	}
	bo.Post("/join", http.StatusBadRequest, url.Values{"key": {link.Key}, "name": {"another"},
		"password": {"zoe zoe zoe"}, "again": {"zoe zoe zoe"}})
}

// TestTokensOfAPassword: a new password leaves programs' tokens unchanged unless they are revoked with it; an account has at most 50
// tokens.
func TestTokensOfAPassword(t *testing.T) {
	t.Parallel()
	_, bo := guarded(t, webtest.Cheap)
	token := bo.Program("read")
	change := func(old, password, tokens string) {
		t.Helper()
		bo.Post("/account/password", http.StatusOK, url.Values{"old": {old}, "password": {password}, "again": {password}, "tokens": {tokens}})
	}
	change(secretOfBo, "a heron stands on one leg", "")
	token.Call(http.MethodGet, "/api/v1/libraries", http.StatusOK, nil)
	if page := bo.Get("/account", http.StatusOK); !strings.Contains(page, "API tokens stay valid") {
		t.Error("the page does not say what a new password ends")
	}
	change("a heron stands on one leg", secretOfBo, "revoke")
	token.Call(http.MethodGet, "/api/v1/libraries", http.StatusUnauthorized, nil)
	for range store.MaxTokens {
		bo.Post("/account/tokens", http.StatusOK, url.Values{"name": {"one"}, "scope": {"read", "tokens"}})
	}
	if page := bo.Post("/account/tokens", http.StatusConflict, url.Values{"name": {"one"}, "scope": {"read"}}); !strings.Contains(page,
		"at most 50 tokens") {
		t.Errorf("one too many: %.300s", page)
	}
}
