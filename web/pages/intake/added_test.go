package intake_test

import (
	"io"
	"mime/multipart"
	"strings"
	"testing"

	"concordat/site"
	"concordat/web/pages/intake"
)

// FuzzAdded: for any form, the resulting document has a valid name, ID and date.
func FuzzAdded(f *testing.F) {
	for _, s := range []string{
		"--b\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\n2019/042\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\ntext\r\n--b--\r\n",
		"--b\r\nContent-Disposition: form-data; name=\"date\"\r\n\r\n2019-13\r\n--b--",
		"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"..\\\\..\\\\\"\r\n\r\n\r\n--b--",
		"--b\r\nContent-Disposition: form-data; name=\"file\"; filename*=UTF-8''%00%ff\r\n\r\n\r\n--b--", "", "--b",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		files := 0
		err := intake.ReadAdded(multipart.NewReader(strings.NewReader(s), "b"), func(f intake.AddedFile, content io.Reader) error {
			files++
			if f.Name == "" || site.CheckName(string(f.ID)) != nil || f.Date.Validate() != nil {
				t.Errorf("got %+v", f)
			}
			_, err := io.Copy(io.Discard, content)
			return err
		})
		if err == nil && files == 0 {
			t.Error("nothing, and no error")
		}
	})
}
