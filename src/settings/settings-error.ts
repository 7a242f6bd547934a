/**
 * What is wrong with the settings, all of it at once, so that a person mends everything in one go.
 * A problem names the setting, where its value came from and what is allowed; never a secret.
 */
import { SetupError } from '../errors.ts'

export class SettingsError extends SetupError {
  readonly problems: readonly string[]

  constructor(problems: readonly string[], options: { readonly hint?: string } = {}) {
    super('bad_settings', problems.join('\n'), options)
    this.problems = problems
  }
}
