package report

import (
	"bytes"
	"encoding/json"
	"fmt"

	"concordat"
)

// ReadManifest returns the manifest of a report, or concordat.ErrNotFound if it has none. Do not trust its content before verifying the
// signature.
func ReadManifest(report []byte) (*Manifest, error) {
	var r struct {
		Manifest *jsonManifest `json:"manifest"`
	}
	if err := json.Unmarshal(report, &r); err != nil {
		return nil, fmt.Errorf("report: %w: %w", concordat.ErrInvalid, err)
	}
	if r.Manifest == nil {
		return nil, fmt.Errorf("manifest: %w", concordat.ErrNotFound)
	}
	j := r.Manifest
	if j.Version != ManifestVersion {
		return nil, fmt.Errorf("manifest: %w: version %d, but this program reads %d", concordat.ErrInvalid, j.Version, ManifestVersion)
	}
	if err := j.asWritten(report); err != nil {
		return nil, err
	}
	m := &Manifest{j.Version, j.Site, j.KeyEpoch, j.At, make([]Item, len(j.Items)), j.Signature}
	for i, s := range j.Items {
		var err error
		if m.Items[i], err = parseItem(s); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// asWritten fails unless the manifest of a report has exactly the content of j, key by key. The signature does not cover the manifest
// itself, where a reader might mistake an additional key, or another spelling of the same bytes, for signed content.
func (j *jsonManifest) asWritten(report []byte) error {
	o, err := parseReport(report)
	if err != nil {
		return err
	}
	b, err := json.Marshal(j)
	if err != nil {
		return err
	}
	again, err := parseReport(b)
	if err != nil {
		return err
	}
	if !bytes.Equal(canonical(nil, o[manifestKey]), canonical(nil, again)) {
		return fmt.Errorf("manifest: %w: not in canonical form", concordat.ErrInvalid)
	}
	return nil
}
