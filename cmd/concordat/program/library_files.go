package program

import (
	"context"
	"errors"
	"strings"

	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/store"
)

// wording returns the text of a template file in any format.
func (a *app) wording(ctx context.Context, o *instance.Instance, path string) (string, error) {
	r := instance.NewReader(instance.Extraction(o.Config), 1)
	items, err := r.Read(ctx, path)
	if err = errors.Join(err, r.Close()); err != nil {
		return "", err
	}
	var out strings.Builder
	for _, item := range items {
		if item.Err != nil {
			return "", cli.Usagef("template %s", failed(item.Path, item.Err))
		}
		out.WriteString(item.Result.Text)
		out.WriteString("\n\n")
	}
	text := strings.TrimSpace(out.String())
	if text == "" || len(text) > store.MaxTemplate {
		return "", cli.Usagef("template %s: text is %d bytes long, but must be between 1 and %d", path, len(text), store.MaxTemplate)
	}
	return text, nil
}
