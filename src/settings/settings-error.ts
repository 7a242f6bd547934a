/**
 * Everything that is wrong with the settings, so that a person can fix all of it at once. A problem
 * names the setting, where its value came from and what is allowed; never a secret.
 */
import { SetupError } from '../errors.ts'

export class SettingsError extends SetupError {
  readonly problems: readonly string[]

  constructor(problems: readonly string[], options: { readonly hint?: string } = {}) {
    super('bad_settings', problems.join('\n'), options)
    this.problems = problems
  }
}
