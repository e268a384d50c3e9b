package accounts_test

import (
	"strings"
	"testing"

	"concordat/web/pages/accounts"
)

// TestAccountName: a name from a provider cannot contain characters that reverse or hide the text around it on a page.
func TestAccountName(t *testing.T) {
	t.Parallel()
	for claim, want := range map[string]string{
		"ann@uni.example": "ann@uni.example", "Ann Müller": "Ann Müller", "李雷": "李雷",
		"\u202eelpmaxe.inu@nna\u202c": "elpmaxe.inu@nna", "ann\u200b\u2066\ufeff": "ann", "a/b\x00\x7f\u0085c": "abc",
		" " + strings.Repeat("x", 100): strings.Repeat("x", 80),
	} {
		if got := accounts.AccountName(claim); got != want {
			t.Errorf("%q becomes %q, want %q", claim, got, want)
		}
	}
}
