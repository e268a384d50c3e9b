package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/internal/storetest"
	"concordat/store"
)

// sample returns a value of a type: x for strings, 1 for numbers, one element for lists, and the value in samples for the types listed
// there.
func sample(typ reflect.Type) reflect.Value {
	v := reflect.New(typ).Elem()
	if x, ok := samples[typ]; ok {
		v.Set(reflect.ValueOf(x))
		return v
	}
	switch typ.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.Append(v, sample(typ.Elem())))
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).Set(sample(typ.Elem()))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(typ))
		v.SetMapIndex(sample(typ.Key()), sample(typ.Elem()))
	case reflect.Pointer:
		v.Set(reflect.New(typ.Elem()))
		v.Elem().Set(sample(typ.Elem()))
	case reflect.Struct:
		for i := range v.NumField() {
			f := typ.Field(i)
			if f.Name == "Embargo" && f.Type == reflect.TypeFor[time.Time]() {
				v.Field(i).Set(reflect.ValueOf(sampleTime)) // a time before it expires
			} else if x, ok := sampleFields[typ.Name()+"."+f.Name]; ok {
				v.Field(i).Set(reflect.ValueOf(x).Convert(f.Type))
			} else if v.Field(i).CanSet() {
				v.Field(i).Set(sample(f.Type))
			}
		}
	}
	return v
}

var sampleTime = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

var samples = map[reflect.Type]any{
	reflect.TypeFor[time.Time]():                  sampleTime.Add(time.Hour),
	reflect.TypeFor[time.Duration]():              time.Minute,
	reflect.TypeFor[json.RawMessage]():            json.RawMessage("{}"),
	reflect.TypeFor[store.Role]():                 store.RoleOfficer,
	reflect.TypeFor[store.ReviewKind]():           store.ReviewComment,
	reflect.TypeFor[store.HookState]():            store.HookActive,
	reflect.TypeFor[store.EventKind]():            store.EventCheckDone,
	reflect.TypeFor[store.DeliveryState]():        store.DeliveryDead,
	reflect.TypeFor[store.PartnerState]():         store.PartnerActive,
	reflect.TypeFor[store.DocumentOrder]():        store.ByAdded,
	reflect.TypeFor[store.CaseStage]():            store.StageNew,
	reflect.TypeFor[store.TaskOrder]():            store.TasksByShare,
	reflect.TypeFor[store.ErasureState]():         store.ErasureDeleted,
	reflect.TypeFor[store.Purpose]():              store.PurposeAPI,
	reflect.TypeFor[store.Lane]():                 allLanes,
	reflect.TypeFor[store.AlertSide]():            store.AlertFound,
	reflect.TypeFor[store.NotificationState]():    store.NotificationFetching,
	reflect.TypeFor[store.AlertChange]():          store.AlertRead,
	reflect.TypeFor[concordat.State]():            concordat.TaskDone,
	reflect.TypeFor[concordat.Date]():             concordat.Date("2026"),
	reflect.TypeFor[concordat.DateOrigin]():       concordat.DateOrigin(""),
	reflect.TypeFor[concordat.Show]():             concordat.ShowExists,
	reflect.TypeFor[concordat.Span]():             concordat.Span{End: 1},
	reflect.TypeFor[[]concordat.Span]():           []concordat.Span{{End: 1}},
	reflect.TypeFor[func(*store.DB) error]():      func(tx *store.DB) error { return tx.Audit.Note(context.Background(), "x", "x", nil) },
	reflect.TypeFor[func(store.ShortText) bool](): func(store.ShortText) bool { return true },
}

var sampleFields = map[string]any{"Task.Files": []string{"y"}, "Policy.Forward": "all", "ShareRule.Outline": "", "Recheck.Kind": "check",
	"LTIAsset.State": store.LTIFetch, "Hook.URL": "https://x.example", "Policy.Meaning": store.MeaningOff}

// samplesOf contains arguments for methods that the samples do not suit.
var samplesOf = map[string][]any{
	"AppendReviewIf": {concordat.TaskID("x"), store.Review{Kind: store.ReviewComment}, store.AnyRules},
	"BatchPair":      {"x", 0, 1}, "SetPairVerdict": {"x", 0, 1, store.VerdictCount}, "EraseBatchMember": {"x", 0},
	"PutChecked": {"x", store.BatchMember{Name: "x", Task: "x"}}, "PutCompared": {"x", 0, []store.BatchPair{{B: 1}}},
	"PutBatchLeads": {"x", 0}, "PutReportedLeads": {"x", 0}, "PutKeystore": {int64(0)}, "Recheck": {"check"},
	"SetPartnerState": {concordat.SiteID("x"), store.PartnerPending, store.PartnerActive},
	"VerifyAudit":     {store.AuditHead{}},
	"Keep":            {store.SharedCase{}, store.SharedCase{ID: sample(reflect.TypeFor[concordat.CaseID]()).Interface().(concordat.CaseID)}},
}

const (
	running = `UPDATE task SET state = 'running', worker = 'x', attempts = 1, lease_until = 9000000000000`
	noTask  = `DELETE FROM batch_pair; DELETE FROM batch_member; DELETE FROM batch; DELETE FROM original; DELETE FROM task`
	claimed = `UPDATE hook_delivery SET seq = 1, state = 'pending', attempts = 1`
)

// before contains statements that put the store into the state that a method needs.
var before = map[string]string{
	"FinishTask": running, "FinishCheck": running, "ReleaseTask": running, "RenewTask": running, "RetitleTask": running,
	"PutTaskProgress": running, "RewriteTask": running,
	"ChangeComment": `INSERT INTO review (task, seq, at, by, kind, text, data) VALUES ('x', 1, 0, 'x', 'comment', 'x', 'null')`,
	"RetryTask":     `UPDATE task SET state = 'failed'`, "SetRequest": `UPDATE task SET state = 'done'`,
	"StartTask": noTask, "CreateTasks": noTask, "ClaimTask": `UPDATE task SET state = 'queued'`,
	"TaskProgress": `INSERT INTO task_progress (task, event) VALUES ('x', '{}')`,
	"BatchOfTask":  `UPDATE batch_member SET task = 'x'`,
	"ClaimIntake":  `UPDATE intake SET id = 'x'`, "FinishIntake": `UPDATE intake SET id = 'x'`,
	"CreateLinked": `DELETE FROM identity; DELETE FROM account`, "DeleteLibrary": `DELETE FROM document`,
	"ClaimDelivery": claimed, "EndAttempt": claimed,
	"JoinAccount":       `UPDATE token SET purpose = 'join'`,
	"FirstAccount":      `DELETE FROM account; UPDATE token SET purpose = 'first', account = ''`,
	"ClaimNotification": `UPDATE notification SET due = 0; UPDATE account SET disabled = 0`,
	"ClaimReply":        `UPDATE notification_answer SET due = 0; UPDATE account SET disabled = 0`,
	"KeepNotification":  `DELETE FROM notification_answer`, "KeepReply": `UPDATE notification_answer SET attempts = 1`,
	"UseSession": `UPDATE token SET purpose = 'session'`,
}

// methods returns the methods of a store and its parts by name; no two share a name.
func methods(db *store.DB) map[string]reflect.Value {
	all := map[string]reflect.Value{}
	add := func(v reflect.Value) {
		for i := range v.NumMethod() {
			all[v.Type().Method(i).Name] = v.Method(i)
		}
	}
	whole := reflect.ValueOf(db)
	add(whole)
	for i := range whole.Elem().NumField() {
		if whole.Elem().Type().Field(i).IsExported() {
			add(whole.Elem().Field(i))
		}
	}
	return all
}

// call calls a method of the store with samples, and returns its error.
func call(ctx context.Context, db *store.DB, method string) error {
	m := methods(db)[method]
	in := []reflect.Value{reflect.ValueOf(ctx)}
	for i := 1; i < m.Type().NumIn(); i++ {
		typ := m.Type().In(i)
		if m.Type().IsVariadic() && i == m.Type().NumIn()-1 {
			typ = typ.Elem()
		}
		if args := samplesOf[method]; i <= len(args) {
			in = append(in, reflect.ValueOf(args[i-1]))
		} else {
			in = append(in, sample(typ))
		}
	}
	out := m.Call(in)
	err, _ := out[len(out)-1].Interface().(error)
	return err
}

// lose calls a method once for each statement that it runs, making that statement fail, then once without a fault.
func lose(t *testing.T, db *store.DB, method string) (statements int, err error) {
	t.Helper()
	for {
		ctx := storetest.NewLosing(context.Background(), statements)
		err := call(ctx, db, method)
		if !ctx.Lost() {
			return statements, err
		}
		if !errors.Is(err, storetest.ErrLost) {
			t.Errorf("%s: statement %d failed, and the call returned the error %v", method, statements, err)
		}
		statements++
	}
}

// filling lists methods that fill an empty store, in an order that succeeds.
var filling = strings.Fields(`CreateAccount CreateLibrary PutDocuments BeginIntake CreateTask PutFindings PutResults PutScore PutAsk
	PutStanding CreateBatch PutBatchMembers PutCompared PutBatchLeads CreateHook PingHook PutToken AddPartner PutShare
	AddInvitation AppendAudit PutLTIPlatform PutLTIChoices PutLTICheck TakeLTINotice PutTemplate PutSourceState PutAlert AskErasure PutDisclosure SeeEpoch UseAnswerJob
	AddAnswerHits AddShipped PutMirror PutRecheck SetTerm SetSetting PutFlow LinkIdentity AddStandingAsk Queue
	PutReceived Show RaiseAlarm AddWitness Join AddSource ClaimSource KeepHarvest PutWorks Open TakeNotification`)

// refused lists methods that fail with the samples after their first statements.
var refused = strings.Fields(`ClaimDelivery HeldDocument JoinAccount Keystore SetPassword`)

// TestLostStatements makes each statement of each method of the store fail, one at a time, and requires that the caller gets an error. A
// change with a failed statement is undone completely, because it is a single transaction.
func TestLostStatements(t *testing.T) {
	options := store.Options{Now: func() time.Time { return sampleTime }}
	full := filepath.Join(t.TempDir(), "full.db")
	db, err := options.Open(t.Context(), full)
	must(t, err)
	statements := 0
	for _, m := range filling {
		n, err := lose(t, db, m)
		if err != nil {
			t.Errorf("%s: %v", m, err)
		}
		statements += n
		if m == "CreateHook" {
			raw(t, full, `UPDATE hook SET id = 'x'`) // the store chooses ids at random
		}
	}
	must(t, db.Close())
	whole, err := os.ReadFile(full)
	must(t, err)
	var ended []string
	all := methods(db)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		typ := all[name].Type()
		if typ.NumIn() < 1 || typ.In(0) != reflect.TypeFor[context.Context]() || slices.Contains(filling, name) ||
			name == "CopyTo" || name == "Snapshot" { // methods of the engine
			continue
		}
		path := filepath.Join(t.TempDir(), "x.db")
		must(t, os.WriteFile(path, whole, 0o600))
		raw(t, path, before[name])
		db, err := options.Open(t.Context(), path)
		must(t, err)
		n, err := lose(t, db, name)
		statements += n
		if err != nil && !slices.Contains(refused, name) {
			ended = append(ended, name+": "+err.Error())
		}
		must(t, db.Close())
	}
	t.Logf("%d statements", statements)
	if statements < 600 || len(ended) > 0 {
		t.Errorf("%d statements; methods whose samples are refused, so that they do not run all of theirs:\n%s", statements,
			strings.Join(ended, "\n"))
	}
}
