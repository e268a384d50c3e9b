package reports_test

import (
	"testing"

	"concordat/internal/webtest"
)

func TestMain(m *testing.M) { webtest.Main(m) }
