package events

// SchemaVersion is the version of the schema of events. Fields and types that are
// added leave it as it is, because readers ignore what they do not know.
const SchemaVersion = 1
