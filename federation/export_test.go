package federation

// AnswerTo exports the bytes that a valid answer signs, for the external tests of this package.
var AnswerTo = answerTo
