package report

// chinese holds the words of a report in simplified Chinese.
var chinese = map[string]string{}
