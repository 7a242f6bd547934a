/** What one identity may write, by the settings. */
import type { BudgetLimits } from '../domain/outbox/budget.ts'
import type { Settings } from './settings.ts'

export function budgetLimits(
  settings: Pick<Settings, 'writeSpacingMs' | 'writesPerMinute' | 'writesPerHour'>,
): BudgetLimits {
  const { writeSpacingMs, writesPerMinute, writesPerHour } = settings
  return { spacingMs: writeSpacingMs, perMinute: writesPerMinute, perHour: writesPerHour }
}
