package config

// Meaning says how texts are compared by what they say.
type Meaning struct {
	Leads string // LeadsOff or LeadsOn
}

// Values of meaning.leads.
const (
	LeadsOff = "off"
	LeadsOn  = "on"
)

var meaningKeys = []Key{
	word("meaning.leads", LeadsOff, live, func(c *Config) *string { return &c.Meaning.Leads },
		"Whether checks look for leads: passages that seem to say in other words what a document says. They count nowhere.",
		LeadsOff, LeadsOn),
}
