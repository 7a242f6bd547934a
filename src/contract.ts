/**
 * The contract: every request and answer of the HTTP interface as a schema. Requests are checked
 * by it, answers written through it, the OpenAPI document made from it, and other doors read it.
 *
 * What must hold: objects are strict, so that a misspelt field is refused and named, never ignored.
 */
export * from './contract/answers.ts'
export * from './contract/audit.ts'
export * from './contract/catch-up.ts'
export * from './contract/conflicts.ts'
export * from './contract/deliveries.ts'
export * from './contract/doctor.ts'
export * from './contract/forms.ts'
export * from './contract/inbox.ts'
export * from './contract/runs.ts'
export * from './contract/status-report.ts'
export * from './contract/tokens.ts'
export * from './contract/why.ts'
