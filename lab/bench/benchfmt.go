package bench

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Benchmark returns a result as a line in the format of Go's benchmarks, for comparison with benchstat, and the units in which more is
// better. The benchmark's name describes what was measured; it consists of words and of the fields documents and sentences. All other
// numbers are values in the units of their fields, with times in nanoseconds.
func Benchmark(name string, result any) (line string, higher []string) {
	var values strings.Builder
	name = "Benchmark" + name
	v := reflect.ValueOf(result)
	for i := range v.NumField() {
		tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		switch f := v.Field(i); {
		case tag == "" || tag == "-" || f.IsZero() && f.Kind() == reflect.String:
		case f.Kind() == reflect.String:
			name += "/" + tag + "=" + strings.Map(inName, f.String())
		case f.CanInt() && (tag == "documents" || tag == "sentences"):
			name += "/" + tag + "=" + strconv.FormatInt(f.Int(), 10)
		case f.CanInt():
			values.WriteString(" " + strconv.FormatInt(f.Int(), 10) + " " + strings.ReplaceAll(tag, "_", "-"))
		case f.CanFloat():
			unit, times := benchUnit(tag)
			values.WriteString(" " + strconv.FormatFloat(times*f.Float(), 'g', 6, 64) + " " + unit)
			if strings.Contains(unit, "-per-cpu-second") || strings.HasSuffix(unit, "-per-s") {
				higher = append(higher, unit)
			}
		}
	}
	slices.Sort(higher)
	return fmt.Sprint(name, " 1", values.String()), slices.Compact(higher)
}

// inName keeps the characters allowed in the value of a part of a name.
func inName(r rune) rune {
	if r <= ' ' || r == '/' || r == '=' {
		return '_'
	}
	return r
}

// benchUnit returns a field's unit and the factor for its value.
func benchUnit(tag string) (unit string, times float64) {
	unit = strings.ReplaceAll(tag, "_", "-")
	if strings.HasSuffix(unit, "-per-s") {
		return unit, 1
	}
	for suffix, ns := range map[string]float64{"-us": 1e3, "-ms": 1e6, "-s": 1e9} {
		if of, ok := strings.CutSuffix(unit, suffix); ok {
			return of + "-ns", ns
		}
	}
	if of, ok := strings.CutSuffix(unit, "-mb"); ok {
		return of + "-MB", 1
	}
	return unit, 1
}
