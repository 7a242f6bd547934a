/** How often each rule was held against something, and where it was broken. */

/** By their numbers in the design; those with a letter belong to the one with their number. */
export const ruleNames = {
  '1': 'one active run per subject, and the newest head has it',
  '2': 'a write with an old fence changes nothing',
  '2b': 'no request leaves after its lease is over',
  '3': 'work is begun again only by a decision that the audit names',
  '4': 'what was accepted is processed, once',
  '5': 'what was announced is closed, with the right word',
  '6': 'one anchor per target, and nobody else’s is touched',
  '7': 'the newest version stands, and no older one replaces it',
  '8': 'an unanswered write is looked for before it is sent again',
  '8b': 'nothing is said twice',
  '8c': 'nothing is asked while GitHub says not now',
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

  /** `text` is made only where the rule is broken. */
  check(rule: Rule, holds: boolean, text: () => string): void {
    this.checks.set(rule, (this.checks.get(rule) ?? 0) + 1)
    if (!holds) this.violations.push({ rule, text: text() })
  }
}
