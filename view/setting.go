package view

// Setting is a key of the configuration with its value.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value" doc:"In the syntax of the configuration file"`
	Origin string `json:"origin" doc:"default, FILE:LINE, $VARIABLE or --FLAG"`
	Live   bool   `json:"live" doc:"A change takes effect without a restart"`
	Hidden bool   `json:"hidden" doc:"value is empty because it is secret"`
}
