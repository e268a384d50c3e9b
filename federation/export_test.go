package federation

// For tests of this package from outside: what a good answer signs.
var AnswerTo = answerTo
