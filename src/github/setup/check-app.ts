/** Checks a GitHub App: its permissions, its events, its installations. */
import { z } from 'zod'
import { fine, problem, warning, type Finding } from '../../domain/finding.ts'
import { checkAppDeliveries, checkAppHook } from './check-app-hook.ts'
import type { Setup } from './check-setup.ts'
import { GitHubError, isGitHubError } from '../errors.ts'
import {
  accessLabel,
  neededPermissions,
  reachesAccess,
  runNeeds,
  settingLabel,
  couldNotCheck,
  type RunNeed,
} from './setup-findings.ts'

const grantsForm = z.object({
  permissions: z.record(z.string(), z.string()),
  events: z.array(z.string()).default([]),
})
const appForm = grantsForm.extend({ id: z.number(), slug: z.string(), name: z.string() })
const installationsForm = z.array(
  grantsForm.extend({
    account: z.object({ login: z.string().optional(), slug: z.string().optional() }).nullish(),
    suspended_at: z.string().nullish(),
  }),
)

type Grants = z.infer<typeof grantsForm>

/** Rejects when GitHub cannot be asked at all. */
export async function checkApp(setup: Setup): Promise<Finding[]> {
  let app: z.infer<typeof appForm>
  try {
    app = (await setup.ask('app', appForm, 'GET /app')).data
  } catch (error) {
    if (!isGitHubError(error, 'unauthorized', 'forbidden', 'not_found', 'gone', 'invalid')) {
      throw error
    }
    return [
      problem(
        'github.credentials',
        `GitHub rejects the App id with this private key (${error.status ?? 'no status'}).`,
        'On GitHub: Settings → Developer settings → GitHub Apps → the App → General: compare the ' +
          'App id with GITHUB_APP_ID, and make a new private key for GITHUB_PRIVATE_KEY if ' +
          'needed. On GitHub Enterprise, GITHUB_API_URL must be its own.',
      ),
    ]
  }
  const place = `On GitHub: Settings → Developer settings → GitHub Apps → ${app.name}`
  return [
    fine(
      'github.credentials',
      `GitHub accepts the App. It acts as ${app.slug}[bot] (App ${app.id}).`,
    ),
    ...checkPermissions(app, place),
    ...checkRunPermissions(app, runNeeds(setup.options.runPermissions ?? {}), place),
    ...checkEvents(app, setup.options.events, place),
    ...(await checkAppHook(setup, place)),
    ...(await checkAppDeliveries(setup, place)),
    ...(await checkInstallations(setup, app, place)),
  ]
}

function checkPermissions({ permissions }: Grants, place: string): Finding[] {
  const check = 'github.permissions'
  const missing = missingPermissions(permissions)
  if (missing.length === 0) return [fine(check, 'The App requests all the permissions it needs.')]
  return missing.map(({ name, label, access }) =>
    problem(
      check,
      `The App does not request the permission ${name}: ${access}.`,
      `${place} → Permissions & events → Repository permissions → ${label}: ` +
        `${accessLabel[access]}. Then accept the change in each installation.`,
    ),
  )
}

/** GitHub gives a run no token at all if one of the permissions of its type is missing. */
function checkRunPermissions(
  { permissions }: Grants,
  needs: readonly RunNeed[],
  place: string,
): Finding[] {
  const check = 'github.run_permissions'
  if (needs.length === 0) return []
  const missing = needs.filter(({ name, access }) => !reachesAccess(permissions[name], access))
  if (missing.length === 0) {
    return [fine(check, 'The App requests all the permissions that run types ask for.')]
  }
  return missing.map(({ type, name, access }) =>
    problem(
      check,
      `Runs of the type ${type} ask for ${name}: ${access}, which the App does not request, so ` +
        'they get no GitHub token.',
      `${place} → Permissions & events → ${settingLabel(name)}: ${accessLabel[access]}. Then ` +
        'accept the change in each installation. Or remove it from the config file: ' +
        `runs: { ${JSON.stringify(type)}: { permissions: { … } } }`,
    ),
  )
}

function checkEvents({ events }: Grants, needed: readonly string[], place: string): Finding[] {
  const check = 'github.events'
  const missing = needed.filter((name) => !events.includes(name))
  if (missing.length === 0)
    return [fine(check, 'The App is subscribed to all the events it needs.')]
  return missing.map((name) =>
    problem(
      check,
      `The App is not subscribed to ${name}.`,
      `${place} → Permissions & events → Subscribe to events: tick ${settingLabel(name)}.`,
    ),
  )
}

/** An installation may not have accepted all permissions that the App asks for. */
async function checkInstallations(setup: Setup, app: Grants, place: string): Promise<Finding[]> {
  const check = 'github.installations'
  const install = `${place} → Install App`
  const needs = [...neededPermissions, ...runNeeds(setup.options.runPermissions ?? {})]
  try {
    const route = 'GET /app/installations'
    const { data } = await setup.ask('app', installationsForm, route, { per_page: 100 })
    if (data.length === 0) {
      return [problem(check, 'The App is not installed.', `${install}: choose an account.`)]
    }
    const findings = data.flatMap(({ account, suspended_at, permissions }) => {
      const where = account?.login ?? account?.slug ?? 'an account'
      if (suspended_at != null) {
        const remedy = `${install} → ${where}: unsuspend it, or uninstall it.`
        return [warning(check, `The installation for ${where} is suspended.`, remedy)]
      }
      const unaccepted = needs.filter(({ name, access }) => {
        return (
          !reachesAccess(permissions[name], access) && reachesAccess(app.permissions[name], access)
        )
      })
      if (unaccepted.length === 0) return []
      const words = unaccepted.map(({ name, access }) => `${name}: ${access}`)
      const names = [...new Set(words)].join(', ')
      const remedy = `An owner of ${where} must accept it: Settings → GitHub Apps → Review request.`
      return [problem(check, `${where} has not granted ${names}.`, remedy)]
    })
    return findings.length > 0
      ? findings
      : [fine(check, `The App is installed for ${count(data.length)}.`)]
  } catch (error) {
    if (error instanceof GitHubError) return [couldNotCheck(check, error)]
    throw error
  }
}

function missingPermissions(permissions: Grants['permissions']) {
  return neededPermissions.filter(({ name, access }) => !reachesAccess(permissions[name], access))
}

function count(accounts: number): string {
  if (accounts === 1) return '1 account'
  return accounts === 100 ? '100 accounts or more' : `${accounts} accounts`
}
