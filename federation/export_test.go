package federation

// For external tests of this package: what a valid answer signs.
var AnswerTo = answerTo
