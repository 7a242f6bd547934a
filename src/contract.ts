/**
 * The contract: a schema for every request and answer of the HTTP API. It checks requests and
 * answers, and the OpenAPI document is made from it. The command line and the library use it too.
 *
 * What must hold: objects are strict, so a misspelt field is refused by its name and never ignored.
 */
export * from './contract/answers.ts'
export * from './contract/audit.ts'
export * from './contract/catch-up.ts'
export * from './contract/conflicts.ts'
export * from './contract/deliveries.ts'
export * from './contract/doctor.ts'
export * from './contract/forms.ts'
export * from './contract/github-token.ts'
export * from './contract/inbox.ts'
export * from './contract/runs.ts'
export * from './contract/status-report.ts'
export * from './contract/steps.ts'
export * from './contract/tokens.ts'
export * from './contract/why.ts'
