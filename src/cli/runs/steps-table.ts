/** How the steps of a run are shown. */
import type { StepView } from '../../contract.ts'
import type { Style } from '../output/paint.ts'
import type { TableShape } from '../output/table.ts'
import { durationText, relativeTime } from '../output/time-text.ts'

const styles: Readonly<Record<StepView['state'], Style>> = {
  started: 'cyan',
  done: 'green',
  failed: 'red',
  held: 'yellow',
  open: 'cyan',
}

/** Empty until it has ended. */
function tookText({ started_at: start, ended_at: end }: StepView): string {
  if (end === null) return ''
  const ms = Date.parse(end) - Date.parse(start)
  return ms < 1000 ? '< 1 s' : durationText(ms)
}

const errorText = ({ error }: StepView): string =>
  error === null ? '' : error.text === null ? error.code : `${error.code}: ${error.text}`

export const stepsTable: TableShape<StepView> = {
  screen: [
    { title: 'STEP', of: ({ name }) => name, cut: 'middle', least: 28 },
    { title: 'STATE', of: ({ state }) => state, style: ({ state }) => styles[state] },
    { title: 'POLICY', of: (step) => step.in_doubt, below: 1, label: 'policy' },
    {
      title: 'ATTEMPTS',
      of: ({ attempt }) => String(attempt),
      side: 'right',
      below: 2,
      label: 'attempts',
    },
    {
      title: 'BEGAN',
      of: ({ started_at: at }, now) => relativeTime(at, now),
      style: () => 'dim',
    },
    { title: 'TOOK', of: tookText, below: 3, label: 'took' },
    { title: 'ERROR', of: errorText, below: 4 },
  ],
  plain: [
    ['name', (step) => step.name],
    ['state', (step) => step.state],
    ['in_doubt', (step) => step.in_doubt],
    ['attempt', (step) => step.attempt],
    ['started_at', (step) => step.started_at],
    ['ended_at', (step) => step.ended_at],
    ['error_code', (step) => step.error?.code ?? null],
    ['error_text', (step) => step.error?.text ?? null],
    ['key', (step) => step.key],
    ['fence', (step) => step.fence],
    ['code_version', (step) => step.code_version],
  ],
}
