/** Counts how often each rule was checked, and collects violations. */

/** By the rule numbers of the design; 2b and so on are parts of rule 2 and so on. */
export const ruleNames = {
  '1': 'at most one run of a subject is active, and it is for the newest head',
  '2': 'a write with an old fence changes nothing',
  '2b': 'no request is sent after its lease has expired',
  '3': 'work is repeated only after a decision that the audit names',
  '4': 'everything accepted is processed once',
  '5': 'everything announced is closed with the right result',
  '6': 'a target has one anchor comment, and comments of others are never changed',
  '7': 'the newest version is shown, and an older one never replaces it',
  '8': 'after an unanswered write, Holdfast looks before it sends again',
  '8b': 'nothing is published twice',
  '8c': 'no request is sent while GitHub tells us to wait',
  '9': 'a step with a recorded result is not done again, and no effect is repeated unnoticed',
  '11': 'due work is taken whatever the queue does, and only with a lease',
  '12': 'every change has its audit row',
} as const
export type Rule = keyof typeof ruleNames

export interface Violation {
  readonly rule: Rule
  readonly text: string
}

export class Findings {
  readonly checks = new Map<Rule, number>()
  readonly violations: Violation[] = []

  /** `text` is called only when the rule is broken. */
  check(rule: Rule, holds: boolean, text: () => string): void {
    this.checks.set(rule, (this.checks.get(rule) ?? 0) + 1)
    if (!holds) this.violations.push({ rule, text: text() })
  }
}
