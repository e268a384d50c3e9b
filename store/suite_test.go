package store_test

import (
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/store"
)

// A place opens the same store at each call. The suite closes every store that it opens.
type place func(o store.Options) (*store.DB, error)

// runSuite runs the store's conformance suite, which every database engine must pass. newPlace makes an empty place for one test and
// removes it afterwards.
func runSuite(t *testing.T, newPlace func(t *testing.T) place) {
	tests := []struct {
		name string
		run  func(*testing.T, place)
	}{
		{"Settings", testSettings},
		{"Restored", testRestored},
		{"Counts", testCounts},
		{"Libraries", testLibraries},
		{"LibraryDelete", testLibraryDelete},
		{"LibraryInvalid", testLibraryInvalid},
		{"Documents", testDocuments},
		{"DocumentsReplace", testDocumentsReplace},
		{"DocumentsRenew", testDocumentsRenew},
		{"DocumentsRollback", testDocumentsRollback},
		{"DocumentsPaging", testDocumentsPaging},
		{"DocumentsOrder", testDocumentsOrder},
		{"DocumentsDelete", testDocumentsDelete},
		{"SentenceVectors", testSentenceVectors},
		{"Intakes", testIntakes},
		{"DeletedNames", testDeletedNames},
		{"Names", testNames},
		{"Sources", testSources},
		{"TaskLife", testTaskLife},
		{"TaskQueueOrder", testTaskQueueOrder},
		{"Lanes", testLanes}, {"Turns", testTurns},
		{"EraseMember", testEraseMember},
		{"BatchDone", testBatchDone},
		{"Unjoined", testUnjoined},
		{"TaskLease", testTaskLease},
		{"TaskSameWorker", testTaskSameWorker},
		{"TaskRelease", testTaskRelease},
		{"TaskGivenUp", testTaskGivenUp},
		{"TaskClaimedOnce", testTaskClaimedOnce},
		{"TaskLeaseRace", testTaskLeaseRace},
		{"TaskPaging", testTaskPaging},
		{"TaskDelete", testTaskDelete},
		{"TaskOwner", testTaskOwner},
		{"TaskCancel", testTaskCancel},
		{"TaskReclaim", testTaskReclaim},
		{"Accounts", testAccounts},
		{"Tokens", testTokens},
		{"Atomic", testAtomic},
		{"FirstAccount", testFirstAccount},
		{"JoinAccount", testJoinAccount},
		{"Reviews", testReviews},
		{"Scores", testScores},
		{"APITokens", testAPITokens},
		{"Once", testOnce},
		{"Hooks", testHooks},
		{"HookEvents", testHookEvents},
		{"Deliveries", testDeliveries},
		{"ReviewIf", testReviewIf},
		{"Findings", testFindings},
		{"FindingsRevision", testFindingsRevision},
		{"Results", testResults},
		{"Shares", testShares},
		{"EpochDocuments", testEpochDocuments},
		{"AnswerJobs", testAnswerJobs},
		{"Questions", testQuestions}, {"Outlined", testOutlined}, {"MuchShown", testMuchShown},
		{"OftenAnswered", testOftenAnswered},
		{"Shipped", testShipped},
		{"Spend", testSpend},
		{"SpendConcurrent", testSpendConcurrent},
		{"Showings", testShowings},
		{"Disclosures", testDisclosures},
		{"Notices", testNotices},
		{"StandingAsks", testStandingAsks},
		{"Audit", testAudit},
		{"AuditConcurrent", testAuditConcurrent},
		{"AuditSearch", testAuditSearch},
		{"TaskCounts", testTaskCounts},
		{"TaskSums", testTaskSums},
		{"TaskFilter", testTaskFilter},
		{"TaskList", testTaskList},
		{"TaskRetry", testTaskRetry},
		{"Cards", testCards},
		{"Partners", testPartners},
		{"Invitations", testInvitations},
		{"Memberships", testMemberships},
		{"Witnesses", testWitnesses}, {"PartnerAlarms", testPartnerAlarms},
		{"Asks", testAsks},
		{"Exposures", testExposures},
		{"Standing", testStanding},
		{"Mirrors", testMirrors},
		{"Batches", testBatches},
		{"BatchMembers", testBatchMembers},
		{"BatchPairs", testBatchPairs},
		{"Rechecks", testRechecks},
		{"Terms", testTerms},
		{"EraseTask", testEraseTask},
		{"Erasures", testErasures},
		{"Charges", testCharges},
		{"Sessions", testSessions},
		{"Public", testPublic},
		{"Identities", testIdentities},
		{"Flows", testFlows},
		{"LTIPlatforms", testLTIPlatforms},
		{"LTIAssets", testLTIAssets},
		{"Cases", testCases}, {"CasesBound", testCasesBound},
		{"HarvestSources", testHarvestSources}, {"HarvestRecords", testHarvestRecords}, {"Works", testWorks},
		{"Notifications", testNotifications}, {"Replies", testReplies}, {"ForgottenNotifications", testForgottenNotifications},
		{"Keystore", testKeystore},
		{"LeaderTasks", testLeaderTasks},
		{"Taken", testTaken},
		{"TaskProgress", testTaskProgress},
		{"ReadWhileWriting", testReadWhileWriting},
		{"Cancelled", testCancelled},
		{"Reopen", testReopen},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, newPlace(t))
		})
	}
}

// start is the initial time of every test's clock.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A clock stays at one time until it is moved. It is safe for concurrent use.
type clock struct {
	mu sync.Mutex
	t  time.Time // guarded by mu
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// openPlace opens the place with a clock at start and closes it when the test ends.
func openPlace(t *testing.T, p place) (*store.DB, *clock) {
	t.Helper()
	c := &clock{t: start}
	db, err := p(store.Options{Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db, c
}

// allLanes means the tasks of every lane.
const allLanes store.Lane = ""

// withLibraries makes libraries with the given ids.
func withLibraries(t *testing.T, db *store.DB, ids ...concordat.LibraryID) {
	t.Helper()
	for _, id := range ids {
		must(t, db.Catalogue.CreateLibrary(t.Context(), store.Library{ID: id, Title: string(id), Created: start}))
	}
}

func row(lib concordat.LibraryID, id concordat.DocumentID, hash string) store.DocumentRow {
	return store.DocumentRow{Library: lib, ID: id, Title: "Title of " + string(id), Author: "Author of " + string(id), Hash: hash,
		Source: "in/" + string(id) + ".txt", Bytes: 1234, Sentences: 9, Characters: 1100,
		Scheme: "natural@0123456789abcdef", Added: start}
}
