/** A result of `doctor`: what it checked, what it found, and what to do about it. */

export interface Finding {
  /** What was checked, such as `store` or `github.permissions`. */
  readonly check: string
  readonly level: 'ok' | 'warning' | 'problem'
  readonly detail: string
  /** What a person can do about it; null when nothing is wrong. */
  readonly remedy: string | null
}

export const fine = (check: string, detail: string): Finding => ({
  check,
  level: 'ok',
  detail,
  remedy: null,
})

export const warning = (check: string, detail: string, remedy: string): Finding => ({
  check,
  level: 'warning',
  detail,
  remedy,
})

export const problem = (check: string, detail: string, remedy: string): Finding => ({
  check,
  level: 'problem',
  detail,
  remedy,
})
