package lti

import (
	"errors"
	"testing"

	"concordat"
)

// FuzzParse: parsing never panics, and accepted payloads are within the bounds.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"iss":"i","aud":"a","exp":1,"https://purl.imsglobal.org/spec/lti/claim/version":"1.3.0","https://purl.imsglobal.org/spec/lti-ap/claim/assetservice":{"assets":[{"asset_id":"a"}]}}`))
	f.Add([]byte(`{"https://purl.imsglobal.org/spec/lti/claim/version":"1.3.0","https://purl.imsglobal.org/spec/lti-dl/claim/deep_linking_settings":null,"https://purl.imsglobal.org/spec/lti/claim/custom":{"a":null}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		b, m, err := parse(payload)
		if err != nil {
			if !errors.Is(err, concordat.ErrInvalid) {
				t.Error(err)
			}
			return
		}
		if b == nil || len(m.Assets) > MaxAssets || len(m.Custom) > maxCustom {
			t.Errorf("got %v, %v", b, m)
		}
		m.Teaches()
		m.Learns()
	})
}
